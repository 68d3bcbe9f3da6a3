/** What the server is doing, for the status item and for debug information. */

import type { Interpreter } from "../core/interpreter";

export type ServerState =
  | { readonly kind: "stopped" }
  | { readonly kind: "starting" }
  | { readonly kind: "running"; readonly interpreter: Interpreter }
  | { readonly kind: "failed"; readonly reason: string };
