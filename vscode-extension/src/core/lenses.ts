/** The server's commands and ours. The client library takes the server's ids for itself, so what users press has others. */

export const OWN_COMMAND: Readonly<Record<string, string>> = {
  "raiselens.verify": "raiselens.verifyHere",
  "raiselens.showRecord": "raiselens.openRecord",
};

export interface PressedCommand {
  title: string;
  command: string;
  arguments?: unknown[];
}

/** The lens's command with our id; one that has none of ours is left as it is. */
export function ownCommand<C extends PressedCommand>(command: C): C {
  const own = OWN_COMMAND[command.command];
  return own === undefined ? command : { ...command, command: own };
}
