import * as vscode from "vscode";
import { deviceName } from "../core/arguments";
import { objectOf, textOf } from "../core/json";
import type { VerifyOptions } from "../server/api";
import { register } from "./register";

const REMEMBERED = "raiselens.verification";

type Mean = "device" | "launcher" | "python";

/** Where and with what to verify: what was chosen for this workspace, else the settings. */
export function means(context: vscode.ExtensionContext, uri: vscode.Uri | undefined): VerifyOptions {
  const configuration = vscode.workspace.getConfiguration("raiselens", uri ?? null);
  const chosen = remembered(context);
  return {
    device: chosen.device ?? configuration.get("verify.device", "auto"),
    launcher: chosen.launcher,
    python: chosen.python,
    timeout: configuration.get("verify.timeout", 600),
  };
}

/** “Choose Where to Verify”: device, launcher and interpreter, remembered for the workspace. */
export function registerMeans(context: vscode.ExtensionContext): void {
  register(context, "raiselens.chooseVerification", async () => {
    const chosen = remembered(context);
    const picked = await vscode.window.showQuickPick(
      [
        { key: "device" as const, label: "$(chip) Device", description: chosen.device ?? "as set" },
        { key: "launcher" as const, label: "$(remote) Launcher", description: chosen.launcher ?? "as set" },
        { key: "python" as const, label: "$(terminal) Interpreter", description: chosen.python ?? "as set" },
        { key: "forget" as const, label: "$(discard) Forget These Choices", description: "the settings count again" },
      ],
      { placeHolder: "Where to verify, in this workspace" },
    );
    if (picked?.key === "forget") {
      await context.workspaceState.update(REMEMBERED, undefined);
    } else if (picked !== undefined) {
      const value = await ask(picked.key, chosen[picked.key] ?? "");
      if (value !== undefined) {
        const next = { ...chosen, [picked.key]: value === "" ? undefined : value };
        await context.workspaceState.update(REMEMBERED, next);
      }
    }
  });
}

const PROMPTS: Readonly<Record<Mean, string>> = {
  device: "auto, cpu, cuda, or cuda:1; empty for what the settings say",
  launcher: "A command put before the interpreter, such as: ssh gpu-box. Empty for what the settings say",
  python: "The interpreter that has torch and triton. Empty for what the settings say",
};

function ask(mean: Mean, value: string): Thenable<string | undefined> {
  const validateInput = (text: string): string | undefined =>
    mean === "device" && text !== "" && deviceName(text) === undefined ? "auto, cpu, cuda or cuda:N" : undefined;
  return vscode.window.showInputBox({ prompt: PROMPTS[mean], value, validateInput });
}

function remembered(context: vscode.ExtensionContext): Partial<Record<Mean, string>> {
  const kept = objectOf(context.workspaceState.get(REMEMBERED));
  const text = (key: Mean): Partial<Record<Mean, string>> => {
    const value = textOf(kept[key]);
    return value === "" ? {} : { [key]: value };
  };
  return { ...text("device"), ...text("launcher"), ...text("python") };
}
