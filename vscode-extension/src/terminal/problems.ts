import { basename, isAbsolute, join } from "node:path";
import * as vscode from "vscode";
import {
  headline,
  ownFile,
  userFrame,
  type Explained,
  type ExplainedError,
  type Frame,
  type Repair,
} from "../core/explained";
import { rangeOf, shifted, type TextChange } from "../core/places";
import { codeOf, FORESEEN, PRINTED } from "../server/diagnostics";

/** Commands whose errors are kept; those of older ones go. */
const MOST_COMMANDS = 20;

interface Problem {
  readonly uri: vscode.Uri;
  readonly diagnostic: vscode.Diagnostic;
  readonly repairs: readonly Repair[];
}

/** What commands in the terminal raised, as diagnostics in the user's files, until the same command succeeds. */
export class TerminalProblems implements vscode.CodeActionProvider, vscode.Disposable {
  private readonly shown = vscode.languages.createDiagnosticCollection("raiselens-terminal");
  private readonly byCommand = new Map<string, Problem[]>();
  private hidden: ReadonlySet<Problem> = new Set();
  private readonly disposables: vscode.Disposable[];

  constructor() {
    this.disposables = [
      this.shown,
      vscode.workspace.onDidChangeTextDocument((event) => this.follow(event)),
      vscode.languages.onDidChangeDiagnostics(({ uris }) => this.compare(uris)),
      vscode.languages.registerCodeActionsProvider({ scheme: "file", language: "python" }, this, {
        providedCodeActionKinds: [vscode.CodeActionKind.QuickFix],
      }),
    ];
  }

  /** Shows the errors of one command, in place of those it raised before. */
  async show(command: string, explained: Explained, cwd: string | undefined): Promise<void> {
    const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
    const own = cwd === undefined ? folders : [...folders, cwd];
    const found: Problem[] = [];
    for (const error of explained.errors) {
      const problem = await problemOf(error, own, cwd);
      if (problem !== undefined && !found.some((known) => samePlace(known, problem))) {
        found.push(problem);
      }
    }
    this.byCommand.delete(command);
    if (found.length > 0) {
      this.byCommand.set(command, found);
    }
    for (const oldest of [...this.byCommand.keys()].slice(0, -MOST_COMMANDS)) {
      this.byCommand.delete(oldest);
    }
    this.publish();
  }

  clear(command?: string): void {
    if (command === undefined) {
      this.byCommand.clear();
    } else {
      this.byCommand.delete(command);
    }
    this.publish();
  }

  dispose(): void {
    vscode.Disposable.from(...this.disposables).dispose();
  }

  provideCodeActions(document: vscode.TextDocument, range: vscode.Range): vscode.CodeAction[] {
    const here = this.all().filter(
      (problem) =>
        same(problem.uri, document.uri) &&
        problem.diagnostic.range.intersection(range) !== undefined &&
        !isForeseen(problem),
    );
    return here.flatMap(({ diagnostic, repairs }) => repairs.map((repair) => fix(diagnostic, repair)));
  }

  private all(): Problem[] {
    return [...this.byCommand.values()].flat();
  }

  private publish(): void {
    const byFile = new Map<string, vscode.Diagnostic[]>();
    this.hidden = new Set(this.all().filter(isForeseen));
    for (const problem of this.all()) {
      if (this.hidden.has(problem)) {
        continue;
      }
      const { uri, diagnostic } = problem;
      const known = byFile.get(uri.toString()) ?? [];
      if (!known.some((other) => other.range.isEqual(diagnostic.range) && other.message === diagnostic.message)) {
        byFile.set(uri.toString(), [...known, diagnostic]);
      }
    }
    this.shown.clear();
    for (const [uri, diagnostics] of byFile) {
      this.shown.set(vscode.Uri.parse(uri), diagnostics);
    }
  }

  /** Shows or hides what the server has begun or ceased to foresee. */
  private compare(uris: readonly vscode.Uri[]): void {
    const here = this.all().filter((problem) => uris.some((uri) => same(uri, problem.uri)));
    if (here.some((problem) => isForeseen(problem) !== this.hidden.has(problem))) {
      this.publish();
    }
  }

  /** An edited place no longer is what raised; a repaired one neither. */
  private follow({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    if (contentChanges.length === 0 || !this.all().some(({ uri }) => same(uri, document.uri))) {
      return;
    }
    for (const [command, problems] of this.byCommand) {
      const left = problems.flatMap((problem) => {
        const moved = same(problem.uri, document.uri) ? movedBy(problem, contentChanges) : problem;
        return moved === undefined ? [] : [moved];
      });
      this.byCommand.set(command, left);
    }
    this.publish();
  }
}

/** Whether the same rule is foreseen at the place: then its diagnostic is there already, with its own fixes. */
function isForeseen({ uri, diagnostic }: Problem): boolean {
  return vscode.languages.getDiagnostics(uri).some(
    (other) =>
      other.source === FORESEEN &&
      codeOf(other) === codeOf(diagnostic) &&
      other.range.intersection(diagnostic.range) !== undefined,
  );
}

async function problemOf(
  error: ExplainedError,
  own: readonly string[],
  cwd: string | undefined,
): Promise<Problem | undefined> {
  if (error.role !== "root" && error.role !== "group-member") {
    return undefined;
  }
  const frames = error.frames.map((frame) => ({ ...frame, file: absolute(frame.file, cwd) }));
  const isOwn = (file: string): boolean => ownFile(file, own);
  const deepest = userFrame({ ...error, frames }, isOwn);
  const raising = deepest === undefined ? undefined : await lineOf(deepest);
  // What a check of the user's own says is of its caller's doing.
  const caller = userFrame({ ...error, frames: frames.slice(0, -1) }, isOwn);
  const checked = deepest === frames.at(-1) && caller !== undefined && /^\s*(?:raise|assert)\b/.test(raising?.text ?? "");
  const frame = checked ? caller : deepest;
  const line = checked ? await lineOf(caller) : raising;
  if (frame === undefined || line === undefined) {
    return undefined;
  }
  const uri = vscode.Uri.file(frame.file);
  const code = error.record?.slug ?? error.className;
  const range = new vscode.Range(line.lineNumber, line.firstNonWhitespaceCharacterIndex, line.lineNumber, line.text.trimEnd().length);
  const ranks = error.ranks.length === 0 ? "" : ` (${error.ranks.join(", ")})`;
  const diagnostic = new vscode.Diagnostic(range, headline(error) + ranks, vscode.DiagnosticSeverity.Error);
  diagnostic.source = PRINTED;
  diagnostic.code = code;
  diagnostic.relatedInformation = related(frames, frame);
  return { uri, diagnostic, repairs: error.repairs };
}

async function lineOf(frame: Frame): Promise<vscode.TextLine | undefined> {
  const uri = vscode.Uri.file(frame.file);
  const document = await vscode.workspace.openTextDocument(uri).then(undefined, () => undefined);
  return document !== undefined && frame.line <= document.lineCount ? document.lineAt(frame.line - 1) : undefined;
}

function absolute(file: string, cwd: string | undefined): string {
  return isAbsolute(file) || cwd === undefined ? file : join(cwd, file);
}

function related(frames: readonly Frame[], own: Frame): vscode.DiagnosticRelatedInformation[] {
  return frames.slice(frames.indexOf(own) + 1).filter(({ file }) => isAbsolute(file)).map(
    ({ file, line, function: name }) =>
      new vscode.DiagnosticRelatedInformation(
        new vscode.Location(vscode.Uri.file(file), new vscode.Position(Math.max(line - 1, 0), 0)),
        `in ${name}, ${basename(file)}`,
      ),
  );
}

function fix(diagnostic: vscode.Diagnostic, repair: Repair): vscode.CodeAction {
  const title = repair.safe ? repair.title : `${repair.title} (unsafe)`;
  const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
  action.diagnostics = [diagnostic];
  action.isPreferred = repair.safe && repair.preferred;
  action.edit = new vscode.WorkspaceEdit();
  for (const edit of repair.edits) {
    const open = vscode.workspace.textDocuments.find((document) => document.uri.fsPath === edit.file);
    const range = rangeOf(edit, (line) => (open !== undefined && line < open.lineCount ? open.lineAt(line).text : ""));
    action.edit.replace(vscode.Uri.file(edit.file), rangeFrom(range), edit.text);
  }
  return action;
}

function movedBy(problem: Problem, changes: readonly vscode.TextDocumentContentChangeEvent[]): Problem | undefined {
  // An edit at a repair's own place means that it was made, or that its text is another now.
  const touched = problem.repairs.some((repair) =>
    repair.edits.some(
      (edit) =>
        vscode.Uri.file(edit.file).toString() === problem.uri.toString() &&
        changes.some(({ range }) => range.start.line <= edit.endLine - 1 && range.end.line >= edit.line - 1),
    ),
  );
  let range: ReturnType<typeof shifted> = problem.diagnostic.range;
  for (const change of changes) {
    range = range === undefined ? undefined : shifted(range, change satisfies TextChange);
  }
  if (range === undefined || touched) {
    return undefined;
  }
  const moved = rangeFrom(range);
  const { diagnostic } = problem;
  if (!moved.isEqual(diagnostic.range)) {
    diagnostic.range = moved;
    // Their places are those of the text as it was when it ran.
    return { ...problem, repairs: [] };
  }
  return problem;
}

function rangeFrom({ start, end }: NonNullable<ReturnType<typeof shifted>>): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

function same(left: vscode.Uri, right: vscode.Uri): boolean {
  return left.toString() === right.toString();
}

function samePlace(left: Problem, right: Problem): boolean {
  return (
    same(left.uri, right.uri) &&
    left.diagnostic.range.isEqual(right.diagnostic.range) &&
    codeOf(left.diagnostic) === codeOf(right.diagnostic)
  );
}
