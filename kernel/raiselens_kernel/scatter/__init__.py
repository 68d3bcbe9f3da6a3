"""The scatter of kv-canary: each request's tokens into its row of the pool; launcher, reference and cases."""
