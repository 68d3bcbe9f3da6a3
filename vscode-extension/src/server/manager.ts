import * as vscode from "vscode";
import { State, type LanguageClient } from "vscode-languageclient/node";
import type { Interpreter } from "../core/interpreter";
import { createClient } from "./client";
import { findInterpreter, watchSelection } from "./interpreters";
import { told, type Channels } from "./log";
import { settingsForServer } from "./settings";
import type { ServerState } from "./state";

/** Quiet time before a change of settings or interpreters restarts the server. */
const RESTART_MILLISECONDS = 500;

/** Settings that take a new process; all others are told to the running one. */
const RESTARTING = ["raiselens.interpreter", "raiselens.logLevel"];

/** Resolves an interpreter, starts the server with it, and starts it anew when what it depends on changes. */
export class ServerManager implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private interpreter: Interpreter | undefined;
  private pending: NodeJS.Timeout | undefined;
  /** Starts and stops one after the other. */
  private work: Promise<void> = Promise.resolve();
  private complained: string | undefined;
  private readonly changed = new vscode.EventEmitter<ServerState>();
  private readonly disposables: vscode.Disposable[] = [this.changed];

  state: ServerState = { kind: "stopped" };
  readonly onDidChange = this.changed.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly channels: Channels,
  ) {
    this.disposables.push(
      vscode.workspace.onDidChangeConfiguration((event) => this.configured(event)),
      vscode.workspace.onDidChangeWorkspaceFolders(() => void this.tellSettings()),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.restartSoon()),
    );
    void watchSelection(() => this.restartSoon()).then((watching) => {
      if (watching !== undefined) {
        this.disposables.push(watching);
      }
    });
  }

  /** The running client, once it has started; throws one line for the user where it cannot. */
  async ready(): Promise<LanguageClient> {
    if (this.state.kind === "stopped") {
      this.start();
    }
    await this.work;
    if (this.client?.state === State.Starting) {
      await this.client.start();
    }
    if (this.client === undefined || this.state.kind !== "running") {
      throw new Error(this.state.kind === "failed" ? this.state.reason : "the server is not running");
    }
    return this.client;
  }

  start(): void {
    this.work = this.work.then(() => this.launch());
  }

  restart(): Promise<void> {
    this.work = this.work.then(() => this.stop()).then(() => this.launch());
    return this.work;
  }

  /** Restarts after a quiet moment: changes come in bursts. */
  restartSoon(): void {
    clearTimeout(this.pending);
    this.pending = setTimeout(() => void this.restart(), RESTART_MILLISECONDS);
  }

  dispose(): void {
    clearTimeout(this.pending);
    vscode.Disposable.from(...this.disposables).dispose();
  }

  /** Ends the server's process; when the extension is deactivated. */
  async stop(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    this.become({ kind: "stopped" });
    await client?.dispose().catch((error: unknown) => this.channels.log.warn(`stopping: ${told(error)}`));
  }

  private async launch(): Promise<void> {
    this.become({ kind: "starting" });
    try {
      this.interpreter = await findInterpreter(this.channels.log);
      const settings = await settingsForServer();
      const client = createClient(this.context, this.channels, this.interpreter, settings);
      this.client = client;
      client.onDidChangeState(({ newState }) => this.follow(client, newState));
      await client.start();
      this.complained = undefined;
    } catch (error) {
      this.fail(told(error));
    }
  }

  private follow(client: LanguageClient, state: State): void {
    if (client !== this.client) {
      return;
    }
    switch (state) {
      case State.Running:
        if (this.interpreter !== undefined) {
          this.become({ kind: "running", interpreter: this.interpreter });
        }
        return;
      case State.Starting:
        this.become({ kind: "starting" });
        return;
      case State.StartFailed:
      case State.Stopped:
        this.become({ kind: "failed", reason: "the server has ended; see the log" });
    }
  }

  private fail(reason: string): void {
    this.channels.log.error(reason);
    this.become({ kind: "failed", reason });
    // Once for each reason: restarts must not pile up messages.
    if (this.complained !== reason) {
      this.complained = reason;
      void vscode.window.showErrorMessage(reason, "Open Settings", "Show Logs").then((answer) => {
        if (answer === "Open Settings") {
          void vscode.commands.executeCommand("workbench.action.openSettings", "raiselens.interpreter");
        } else if (answer === "Show Logs") {
          this.channels.log.show();
        }
      });
    }
  }

  private become(state: ServerState): void {
    this.state = state;
    this.channels.log.debug(`server ${state.kind}`);
    this.changed.fire(state);
  }

  private configured(event: vscode.ConfigurationChangeEvent): void {
    if (RESTARTING.some((key) => event.affectsConfiguration(key))) {
      this.restartSoon();
    } else if (event.affectsConfiguration("raiselens")) {
      void this.tellSettings();
    }
  }

  private async tellSettings(): Promise<void> {
    if (this.client?.state !== State.Running) {
      return;
    }
    const { settings, folders } = await settingsForServer();
    await this.client.sendNotification("workspace/didChangeConfiguration", { settings: { raiselens: settings, folders } });
  }
}
