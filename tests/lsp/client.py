"""A real client on a real server process: the one helper that touches the protocol."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pytest_lsp import LanguageClient, make_test_lsp_client

if TYPE_CHECKING:
    from pathlib import Path

PULL = types.ClientCapabilities(
    general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf16]),
    workspace=types.WorkspaceClientCapabilities(
        diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True), configuration=False
    ),
    window=types.WindowClientCapabilities(work_done_progress=True),
    text_document=types.TextDocumentClientCapabilities(
        diagnostic=types.DiagnosticClientCapabilities(),
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
            related_information=True, code_description_support=True, version_support=True
        ),
        code_action=types.CodeActionClientCapabilities(
            data_support=True, resolve_support=types.ClientCodeActionResolveOptions(properties=["edit"])
        ),
    ),
)
PUSH = types.ClientCapabilities()


@dataclass
class Editor:
    """One client: opens, types, and applies what it is given, as an editor would."""

    client: LanguageClient
    texts: dict[str, str] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)

    def open(self, path: Path, text: str, language: str = "python") -> str:
        """Open a document with a text."""
        uri = path.as_uri()
        self.texts[uri], self.versions[uri] = text, 1
        item = types.TextDocumentItem(uri, language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def type(self, uri: str, old: str, new: str) -> None:
        """Replace one piece of text by another, as an incremental change."""
        text = self.texts[uri]
        begin = text.index(old)
        where = types.Range(position(text, begin), position(text, begin + len(old)))
        self.texts[uri] = text[:begin] + new + text[begin + len(old) :]
        self._changed(uri, [types.TextDocumentContentChangePartial(range=where, text=new)])

    def apply(self, edit: types.WorkspaceEdit) -> None:
        """Apply an edit that a code action gave."""
        assert edit.changes
        for uri, edits in edit.changes.items():
            for one in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
                text = self.texts[uri]
                begin, end = offset(text, one.range.start), offset(text, one.range.end)
                self.texts[uri] = text[:begin] + one.new_text + text[end:]
                self._changed(uri, [types.TextDocumentContentChangePartial(range=one.range, text=one.new_text)])

    def _changed(self, uri: str, changes: list[Any]) -> None:
        self.versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, changes))

    async def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """Ask for the diagnostics of a document."""
        report = await self.client.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
        )
        assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
        return list(report.items)

    async def hover(self, uri: str, where: types.Position) -> str:
        """The text of a hover, empty where there is none."""
        answer = await self.client.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), where)
        )
        if answer is None:
            return ""
        assert isinstance(answer.contents, types.MarkupContent)
        return answer.contents.value

    async def actions(
        self, uri: str, where: types.Range, found: list[types.Diagnostic], *only: str
    ) -> list[types.CodeAction]:
        """The code actions for a range, each with its edit."""
        context = types.CodeActionContext(diagnostics=found, only=list(only) or None)
        answer = await self.client.text_document_code_action_async(
            types.CodeActionParams(types.TextDocumentIdentifier(uri), where, context)
        )
        actions = [action for action in answer or [] if isinstance(action, types.CodeAction)]
        return [await self.client.code_action_resolve_async(action) for action in actions]

    async def command(self, name: str, argument: Any = None, token: str | None = None) -> Any:
        """Run a command with its argument object."""
        arguments = None if argument is None else [argument]
        return await self.client.workspace_execute_command_async(
            types.ExecuteCommandParams(command=name, arguments=arguments, work_done_token=token)
        )


async def start(
    folder: Path,
    capabilities: types.ClientCapabilities = PULL,
    client: LanguageClient | None = None,
    **options: Any,
) -> tuple[Editor, types.InitializeResult]:
    """Start the server on `folder`; `options` are the initialization options."""
    client = client or make_test_lsp_client()
    await client.start_io(sys.executable, "-m", "raiselens_server.cli.main", "server")
    result = await client.initialize_session(
        types.InitializeParams(
            capabilities=capabilities,
            workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name)],
            initialization_options=options or None,
        )
    )
    return Editor(client), result


async def stop(editor: Editor) -> None:
    """End the session and the process."""
    await asyncio.wait_for(editor.client.shutdown_session(), 20)


def position(text: str, at: int) -> types.Position:
    """A UTF-16 position."""
    line = text.count("\n", 0, at)
    return types.Position(line, len(text[text.rfind("\n", 0, at) + 1 : at].encode("utf-16-le")) // 2)


def offset(text: str, where: types.Position) -> int:
    """The character that a UTF-16 position is before."""
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[: where.line])
    units = lines[where.line].encode("utf-16-le") if where.line < len(lines) else b""
    return start + len(units[: where.character * 2].decode("utf-16-le"))
