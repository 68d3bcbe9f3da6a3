import * as vscode from "vscode";
import { enabled } from "../configuration";
import type { Explained } from "../core/explained";
import { TerminalBuffer } from "../core/terminal";
import type { ServerApi } from "../server/api";
import { told } from "../server/log";
import type { TerminalProblems } from "./problems";

const FIRST_LOOK_MILLISECONDS = 500;
const LONGEST_WAIT_MILLISECONDS = 16_000;

/** The errors that each terminal printed last, for its links. */
export type Latest = Map<vscode.Terminal, Explained>;

/** Reads commands as they run, where the shell tells of them, and explains what they print. */
export function registerStream(
  context: vscode.ExtensionContext,
  api: ServerApi,
  problems: TerminalProblems,
  latest: Latest,
  log: vscode.LogOutputChannel,
): void {
  const running = new Map<vscode.TerminalShellExecution, Command>();
  context.subscriptions.push(
    vscode.window.onDidStartTerminalShellExecution(({ terminal, execution }) => {
      if (enabled("terminal.diagnostics")) {
        running.set(execution, new Command(terminal, execution, api, problems, latest, log));
      }
    }),
    vscode.window.onDidEndTerminalShellExecution(({ execution, exitCode }) => {
      void running.get(execution)?.end(exitCode);
      running.delete(execution);
    }),
    vscode.window.onDidCloseTerminal((terminal) => latest.delete(terminal)),
    vscode.commands.registerCommand("raiselens.clearTerminalErrors", () => problems.clear()),
  );
}

/** One command while it runs. */
class Command {
  private readonly buffer = new TerminalBuffer();
  private readonly key: string;
  private readonly cwd: vscode.Uri | undefined;
  private readonly read: Promise<void>;
  private timer: NodeJS.Timeout | undefined;
  private wait = FIRST_LOOK_MILLISECONDS;
  private looking: Promise<void> = Promise.resolve();

  constructor(
    private readonly terminal: vscode.Terminal,
    execution: vscode.TerminalShellExecution,
    private readonly api: ServerApi,
    private readonly problems: TerminalProblems,
    private readonly latest: Latest,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.cwd = execution.cwd ?? terminal.shellIntegration?.cwd;
    this.key = `${this.cwd?.toString() ?? ""}\n${execution.commandLine.value.trim()}`;
    this.read = this.follow(execution.read());
  }

  /** The command has ended; what it printed last may still be on its way. */
  async end(exitCode: number | undefined): Promise<void> {
    await this.read;
    clearTimeout(this.timer);
    if (exitCode === 0) {
      await this.looking;
      this.problems.clear(this.key);
    } else if (this.buffer.suspicious) {
      await this.look();
    }
  }

  private async follow(data: AsyncIterable<string>): Promise<void> {
    for await (const part of data) {
      this.buffer.push(part);
      if (this.buffer.suspicious && this.timer === undefined) {
        this.timer = setTimeout(() => void this.look(), this.wait);
        // A server that keeps printing errors is looked at less and less often.
        this.wait = Math.min(this.wait * 2, LONGEST_WAIT_MILLISECONDS);
      }
    }
  }

  private look(): Promise<void> {
    this.timer = undefined;
    this.looking = this.looking.then(() => this.explain());
    return this.looking;
  }

  private async explain(): Promise<void> {
    try {
      const near = this.cwd === undefined ? undefined : vscode.Uri.joinPath(this.cwd, "terminal.log");
      const explained = await this.api.explainText(this.buffer.text(), near);
      this.latest.set(this.terminal, explained);
      await this.problems.show(this.key, explained, this.cwd?.fsPath);
    } catch (error) {
      this.log.warn(`the terminal's output was not explained: ${told(error)}`);
    }
  }
}
