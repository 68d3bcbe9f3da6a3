import js from "@eslint/js";
import tseslint from "typescript-eslint";

const untyped = ["*.mjs", "scripts/**/*.mjs", "e2e/**/*.mjs"];

export default tseslint.config(
  { ignores: ["dist/**", "bundled/**", "node_modules/**"] },
  js.configs.recommended,
  {
    files: ["**/*.ts", "**/*.mts"],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Everything said goes to the output channel, where the user finds it.
      "no-console": "error",
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      // The editor's API goes by shape: whatever has `dispose` is a `Disposable`.
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      // `void promise` marks what nobody waits for.
      "@typescript-eslint/no-floating-promises": ["error", { ignoreVoid: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  {
    // What decides anything is here, and is tested without an editor.
    files: ["src/core/**/*.ts"],
    rules: { "no-restricted-imports": ["error", { paths: ["vscode"], patterns: ["vscode-*", "../*"] }] },
  },
  {
    files: untyped,
    languageOptions: {
      globals: { process: "readonly", console: "readonly", fetch: "readonly", setTimeout: "readonly", clearTimeout: "readonly", document: "readonly", URL: "readonly" },
    },
  },
);
