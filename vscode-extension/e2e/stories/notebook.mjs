import { until } from "../editor.mjs";
import { FIX, SCATTER } from "../programs.mjs";

const cell = (source) => ({ cell_type: "code", execution_count: null, metadata: {}, outputs: [], source });
const [imports, body] = SCATTER.split("\n\n");
const [call, ...made] = body.trim().split("\n").reverse();

export const NOTEBOOK = JSON.stringify({
  cells: [cell(`%matplotlib inline\n${imports}`), cell(made.reverse().join("\n")), cell(call)],
  metadata: { language_info: { name: "python" } },
  nbformat: 4,
  nbformat_minor: 5,
});

/** Cells of a notebook are one program: the call in one is mended where another allocates. */
export async function notebook(start) {
  const { window } = await start({ files: { "demo.ipynb": NOTEBOOK } });
  // Before the editor has loaded what it needs for notebooks, it opens them as text.
  await until(async () => {
    await window.open("demo.ipynb");
    const cells = window.page.locator(".notebookOverlay .monaco-editor").first();
    const opened = await cells.waitFor({ timeout: 10_000 }).then(() => true, () => false);
    if (!opened) {
      await window.command("View: Close All Editors");
    }
    return opened;
  }, "the notebook's cells", 120_000);
  await window.squiggles().first().waitFor({ timeout: 60_000 });
  await window.shot("notebook");
  await window.click("pool_out=pool", "launch_scatter");
  await window.quickFix(FIX);
  await until(async () => (await window.text()).includes("dtype=torch.int32"), "the other cell is mended");
  await until(async () => (await window.squiggles().count()) === 0, "the finding is gone");
}
