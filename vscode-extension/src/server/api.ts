import * as vscode from "vscode";
import {
  CodeActionRequest,
  CodeActionResolveRequest,
  ExecuteCommandRequest,
  WorkDoneProgress,
  type CodeAction,
} from "vscode-languageclient/node";
import type { VerifyTarget } from "../core/arguments";
import { readExplained, type Explained } from "../core/explained";
import { isObject, listOf, textOf, type JsonObject } from "../core/json";
import { readVerified, type Verified } from "../core/verified";
import type { ServerManager } from "./manager";

export interface Hit {
  readonly id: string;
  readonly slug: string;
  readonly className: string;
  readonly message: string;
  readonly repo: string;
}

export interface VerifyOptions {
  readonly device: string;
  readonly launcher: string | undefined;
  readonly python: string | undefined;
  readonly timeout: number;
}

let runs = 0;

/** The server's commands, typed. Each fails with one line for the user. */
export class ServerApi {
  constructor(private readonly manager: ServerManager) {}

  async explainText(text: string, uri?: vscode.Uri): Promise<Explained> {
    return readExplained(await this.execute("raiselens.explainText", { text, uri: uri?.toString() }));
  }

  /** A record's page, as Markdown. */
  async showRecord(id: string): Promise<string> {
    return textOf(await this.execute("raiselens.showRecord", { id }));
  }

  async searchCatalog(query: string, token: vscode.CancellationToken): Promise<Hit[]> {
    return listOf(await this.execute("raiselens.searchCatalog", { query }, { token }), (hit) => ({
      id: textOf(hit["id"]),
      slug: textOf(hit["slug"]),
      className: textOf(hit["class"]),
      message: textOf(hit["message"]),
      repo: textOf(hit["repo"]),
    }));
  }

  async debugInformation(uri?: vscode.Uri): Promise<JsonObject> {
    const answer = await this.execute("raiselens.debugInformation", { uri: uri?.toString() });
    return isObject(answer) ? answer : {};
  }

  /** Runs before and after. Cancelling `token` kills the run; `report` is told each step. */
  async verify(
    target: VerifyTarget | { readonly scatter: true },
    options: VerifyOptions,
    token: vscode.CancellationToken,
    report: (step: string) => void,
  ): Promise<Verified> {
    return readVerified(await this.execute("raiselens.verify", { ...target, ...options }, { token, report }));
  }

  /** Mines libraries into records. Cancelling `token` takes everything back; `report` is told how far it is. */
  async buildCatalog(
    targets: readonly string[],
    token: vscode.CancellationToken,
    report: (step: string) => void,
  ): Promise<unknown> {
    return this.execute("raiselens.buildCatalog", { targets }, { token, report });
  }

  /** The edit of the one safe fix of a finding, where there is one. */
  async preferredFix({ uri, range }: vscode.Location): Promise<vscode.WorkspaceEdit | undefined> {
    const client = await this.manager.ready();
    const there = client.code2ProtocolConverter;
    const offered = await client.sendRequest(CodeActionRequest.type, {
      textDocument: { uri: there.asUri(uri) },
      range: there.asRange(range),
      context: { diagnostics: [], only: ["quickfix"] },
    });
    const fix = offered?.find((action): action is CodeAction => "isPreferred" in action && action.isPreferred);
    const whole = fix?.edit === undefined && fix !== undefined ? await client.sendRequest(CodeActionResolveRequest.type, fix) : fix;
    return client.protocol2CodeConverter.asWorkspaceEdit(whole?.edit);
  }

  private async execute(
    command: string,
    argument: object,
    { token, report }: { token?: vscode.CancellationToken; report?: (step: string) => void } = {},
  ): Promise<unknown> {
    const client = await this.manager.ready();
    const params = { command, arguments: [argument] };
    if (report === undefined) {
      return client.sendRequest(ExecuteCommandRequest.type, params, token);
    }
    const workDoneToken = `raiselens-run-${++runs}`;
    const progress = client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
      if (value.kind === "report" && value.message !== undefined) {
        report(value.message);
      }
    });
    try {
      return await client.sendRequest(ExecuteCommandRequest.type, { ...params, workDoneToken }, token);
    } finally {
      progress.dispose();
    }
  }
}
