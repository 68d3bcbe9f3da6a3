import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { chosen, PROGRAM_SETTINGS, SERVER_SETTINGS, serverSettings, type Inspection } from "../src/core/settings";

interface Manifest {
  readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: string[] } };
  readonly contributes: {
    readonly commands: { readonly command: string; readonly title: string }[];
    readonly configuration: { readonly properties: Record<string, { markdownDescription?: string; scope?: string; default?: unknown }> };
  };
}

const root = join(__dirname, "..");
const server = join(root, "..", "server", "raiselens_server");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
const { properties } = manifest.contributes.configuration;
const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => readFileSync(join(root, "src", name), "utf8"))
  .join("\n");

describe("package.json", () => {
  it("documents every setting, with a scope and a default", () => {
    for (const [name, property] of Object.entries(properties)) {
      expect(property.markdownDescription, name).toMatch(/\.$/);
      expect(property.scope, name).toBeDefined();
      expect(property.default, name).toBeDefined();
    }
  });

  it("has each setting of the server, and only settings that something reads", () => {
    for (const key of SERVER_SETTINGS) {
      expect(Object.keys(properties)).toContain(`raiselens.${key}`);
    }
    for (const name of Object.keys(properties)) {
      const key = name.replace("raiselens.", "");
      // The client library itself reads the trace's.
      expect(key === "trace.server" || sources.includes(`"${key}"`), name).toBe(true);
    }
  });

  it("knows the settings that the server reads, and no others", () => {
    const readers = readFileSync(join(server, "config.py"), "utf8").split("_READERS:")[1] ?? "";
    const keys = [...readers.matchAll(/^ {4}"([\w-]+)": /gm)].map(([, key]) => key);
    const hyphenated = SERVER_SETTINGS.map((key) => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`));
    expect(hyphenated.sort()).toEqual(keys.sort());
  });

  it("restricts what names programs", () => {
    expect(new Set(manifest.capabilities.untrustedWorkspaces.restrictedConfigurations)).toEqual(
      new Set([...PROGRAM_SETTINGS].map((key) => `raiselens.${key}`)),
    );
    expect(properties["raiselens.interpreter"]?.scope).toBe("machine");
  });

  it("declares the commands that are registered, under ids that are not the server's", () => {
    const table = readFileSync(join(server, "lsp", "features.py"), "utf8");
    const servers = [...table.matchAll(/"raiselens\.(\w+)": "commands\./g)].map(([, name]) => name);
    expect(servers).toContain("verify");
    for (const { command } of manifest.contributes.commands) {
      expect(servers).not.toContain(command.replace("raiselens.", ""));
      expect(sources, command).toContain(`"${command}"`);
    }
  });

  it("is described by the README setting by setting", () => {
    const readme = readFileSync(join(root, "README.md"), "utf8");
    for (const name of Object.keys(properties)) {
      expect(readme, name).toContain(`\`${name}\``);
    }
  });
});

describe("settings for the server", () => {
  const inspect = (set: Record<string, Inspection>) => (key: string) => set[key];

  it("are those that someone set, the nearest first", () => {
    expect(chosen("ignore", { globalValue: ["a"], workspaceValue: ["b"], workspaceFolderValue: ["c"] }, true)).toEqual(["c"]);
    expect(chosen("ignore", { globalValue: ["a"], workspaceValue: ["b"] }, true)).toEqual(["b"]);
    expect(serverSettings(inspect({ ignore: {}, select: { globalValue: [] } }), true, undefined)).toEqual({ select: [] });
  });

  it("name no programs of an untrusted workspace", () => {
    const set = inspect({ python: { workspaceValue: "./evil" }, launcher: { globalValue: "ssh box", workspaceValue: "./evil" } });
    expect(serverSettings(set, false, "/selected")).toEqual({ launcher: "ssh box" });
    expect(serverSettings(set, true, "/selected")).toEqual({ python: "./evil", launcher: "./evil" });
  });

  it("take the Python extension's interpreter where none is set", () => {
    expect(serverSettings(inspect({}), true, "/selected")).toEqual({ python: "/selected" });
    expect(serverSettings(inspect({ python: { globalValue: "" } }), true, "/selected")).toEqual({ python: "/selected" });
  });
});
