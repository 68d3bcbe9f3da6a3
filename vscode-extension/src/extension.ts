import * as vscode from "vscode";
import { registerBuild } from "./commands/build";
import { registerDemo } from "./commands/demo";
import { registerExplain } from "./commands/explain";
import { insertFix, registerFix } from "./commands/fix";
import { loadRecord, registerRecords } from "./commands/records";
import { registerSearch } from "./commands/search";
import { registerServerCommands } from "./commands/server";
import { registerVerify } from "./commands/verify";
import { ServerApi } from "./server/api";
import { createChannels } from "./server/log";
import { ServerManager } from "./server/manager";
import { registerStatus } from "./server/status";
import { registerLinks } from "./terminal/links";
import { TerminalProblems } from "./terminal/problems";
import { registerStream, type Latest } from "./terminal/stream";
import { Pages } from "./views/pages";
import { registerRaisedView } from "./views/raised";

let manager: ServerManager | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const channels = createChannels(context);
  manager = new ServerManager(context, channels);
  const api = new ServerApi(manager);
  const pages = new Pages(context, {
    load: (record) => loadRecord(api, record),
    insertFix: (finding) => insertFix(api, finding),
  });
  const problems = new TerminalProblems();
  const latest: Latest = new Map();
  context.subscriptions.push(manager, pages, problems);

  registerStatus(context, manager, api);
  registerServerCommands(context, manager, api, channels);

  registerRecords(context, api, pages);
  registerSearch(context, api, pages);
  registerExplain(context, api, pages);
  registerFix(context, api);
  registerVerify(context, api, pages);
  registerBuild(context, api);
  registerDemo(context);

  registerStream(context, api, problems, latest, channels.log);
  registerLinks(context, api, latest, {
    openRecord: async (id) => {
      const page = await loadRecord(api, id).catch(() => undefined);
      if (page !== undefined) {
        pages.show(page);
      }
      return page !== undefined;
    },
    showPage: (title, markdown) => pages.show({ title, markdown }),
  });
  registerRaisedView(context);

  manager.start();
}

export async function deactivate(): Promise<void> {
  await manager?.stop();
}
