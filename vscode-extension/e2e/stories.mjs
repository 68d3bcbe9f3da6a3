// One story for each promise. A story is given `start`, which opens an editor on a workspace, and where things are.
import { build } from "./stories/build.mjs";
import { explain } from "./stories/explain.mjs";
import { int64 } from "./stories/int64.mjs";
import { log } from "./stories/log.mjs";
import { notebook } from "./stories/notebook.mjs";
import { records } from "./stories/records.mjs";
import { restart } from "./stories/restart.mjs";
import { roots } from "./stories/roots.mjs";
import { settings } from "./stories/settings.mjs";
import { terminal } from "./stories/terminal.mjs";
import { untrusted } from "./stories/untrusted.mjs";
import { verify } from "./stories/verify.mjs";
import { walkthrough } from "./stories/walkthrough.mjs";

export const STORIES = {
  int64,
  log,
  explain,
  terminal,
  verify,
  records,
  build,
  settings,
  walkthrough,
  restart,
  untrusted,
  roots,
  notebook,
};
