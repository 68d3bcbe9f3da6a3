"""`workspace/executeCommand`: one file a command, each given its argument object and the client's progress token."""
