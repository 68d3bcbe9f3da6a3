"""Ways of raising: each is the source of a module `job` whose `fail()` raises, and the first Python that can run it."""

from __future__ import annotations

RAISERS: dict[str, tuple[tuple[int, int], str]] = {
    "plain": ((3, 8), "def fail():\n    raise ValueError('pool_out must be int32, got torch.int64')\n"),
    "empty": ((3, 8), "def check(n):\n    assert n > 3\n\ndef fail():\n    check(2)\n"),
    "key": ((3, 8), "def fail():\n    return {'a': 1}['layers.3.weight']\n"),
    "dotted": ((3, 8), "class OutOfBlocks(Exception):\n    pass\n\ndef fail():\n    raise OutOfBlocks('0 of 128 blocks left')\n"),
    "nested-class": (
        (3, 8),
        "class Pool:\n    class Full(Exception):\n        pass\n\ndef fail():\n    raise Pool.Full('slot 7: taken')\n",
    ),
    "lines": ((3, 8), "def fail():\n    raise RuntimeError('two things are wrong:\\n  - the dtype\\n  - the shape')\n"),
    "excerpt": (
        (3, 8),
        "def fail():\n    raise RuntimeError('at 3:7:\\ndef kernel(x):\\n    y = load(x)\\n\\n    z = arange(0, 3)\\n        ^')\n",
    ),
    "unicode": ((3, 8), "def fail():\n    raise ValueError('größe ≠ 4 — 形状 (2, 3) 🙂')\n"),
    "long": ((3, 8), "def fail():\n    raise TypeError('too long: ' + 'abcdefghi ' * 60 + 'end')\n"),
    "colons": ((3, 8), "def fail():\n    raise OSError(2, 'No such file', '/a/b: c.txt')\n"),
    "quotes": ((3, 8), "def fail():\n    raise ValueError('File \"x.py\", line 3, in f')\n"),
    "call": ((3, 8), "def g(a, b):\n    return a\n\ndef fail():\n    g(1, c=2)\n"),
    "none": ((3, 8), "def fail():\n    x = None\n    return [y.shape for y in [x]][0]\n"),
    "exec": ((3, 8), "def fail():\n    exec('1 / 0')\n"),
    "lambda": ((3, 8), "def fail():\n    (lambda v: v + 'x')(1)\n"),
    "recursion": ((3, 8), "def down(n):\n    return down(n + 1)\n\ndef fail():\n    down(0)\n"),
    "syntax": ((3, 8), "def fail():\n    compile('x = (1,\\n', 'conf.py', 'exec')\n"),
    "import": ((3, 8), "def fail():\n    import not_installed_anywhere\n"),
    "cause": (
        (3, 8),
        ("def load():\n    return {}['dtype']\n\ndef fail():\n    try:\n        load()\n    except KeyError as e:\n"
        "        raise ValueError('no dtype was given') from e\n"),
    ),
    "context": (
        (3, 8),
        "def close():\n    raise OSError('cannot close twice')\n\ndef fail():\n    try:\n        1 / 0\n    finally:\n        close()\n",
    ),
    "three": (
        (3, 8),
        ("def a():\n    raise LookupError('first')\n\ndef b():\n    try:\n        a()\n    except LookupError as e:\n"
        "        raise RuntimeError('second') from e\n\ndef fail():\n    try:\n        b()\n    except RuntimeError:\n"
        "        raise TypeError('third: not a tensor')\n"),
    ),
    "unraised": ((3, 8), "def fail():\n    raise ValueError('the outer one') from KeyError('never raised')\n"),
    "multiline-call": (
        (3, 8),
        "def take(a,\n         b):\n    raise ValueError('bad pair')\n\ndef fail():\n    take(\n        [1,\n         2],\n        {'k':\n         3},\n    )\n",
    ),
    "notes": (
        (3, 11),
        "def fail():\n    e = ValueError('with notes')\n    e.add_note('while loading shard 3')\n    e.add_note('on rank 1')\n    raise e\n",
    ),
    "group": (
        (3, 11),
        ("def one():\n    raise TypeError('expected int32 but found int64')\n\ndef two():\n    raise KeyError('k')\n\n"
        "def fail():\n    errors = []\n    for f in (one, two):\n        try:\n            f()\n        except Exception as e:\n"
        "            errors.append(e)\n    raise ExceptionGroup('2 tasks failed', errors)\n"),
    ),
    "group-nested": (
        (3, 11),
        ("def one():\n    raise TypeError('inner\\nof two lines')\n\ndef inner():\n    try:\n        one()\n    except TypeError as e:\n"
        "        raise ExceptionGroup('inner', [e])\n\ndef fail():\n    try:\n        inner()\n    except ExceptionGroup as g:\n"
        "        raise ExceptionGroup('outer', [g, ValueError('bare')])\n"),
    ),
    "group-cause": (
        (3, 11),
        "def fail():\n    try:\n        {}['x']\n    except KeyError as e:\n        raise ExceptionGroup('after it', [ValueError('member')]) from e\n",
    ),
    "plain-lines": ((3, 8), "def fail():\n    raise RuntimeError('cannot load\\nshard 3 of 8 is short\\ntry again')\n"),
    "lines-between": (
        (3, 8),
        ("def load():\n    raise OSError('shard 3\\nof 8 is short')\n\ndef fail():\n    try:\n        load()\n    except OSError as e:\n"
        "        raise RuntimeError('cannot load the model') from e\n"),
    ),
    "paragraphs": ((3, 8), "def fail():\n    raise RuntimeError('cannot load:\\n\\n  - shard 3\\n\\n  - shard 5')\n"),
    "quoted-traceback": (
        (3, 8),
        ("import traceback\n\ndef worker():\n    raise KeyError('scale')\n\ndef fail():\n    try:\n        worker()\n    except KeyError:\n"
        "        text = traceback.format_exc().replace(__file__, 'worker.py')\n    raise RuntimeError('worker 3 said:\\n\\n' + text)\n"),
    ),
    "nothing": ((3, 8), "def fail():\n    raise ValueError\n"),
    "ends-blank": ((3, 8), "def fail():\n    raise ValueError('no tensor\\n')\n"),
    "caret": ((3, 8), "def fail():\n    raise ValueError('x + int64\\n    ^')\n"),
    "lower-class": ((3, 8), "class shape_mismatch(Exception):\n    pass\n\ndef fail():\n    raise shape_mismatch('(2, 3) and (3, 2)')\n"),
    "local-class": (
        (3, 8),
        "def fail():\n    class BadShape(RuntimeError):\n        pass\n    raise BadShape('made in a function')\n",
    ),
    "unicode-class": ((3, 8), "class Gr\u00f6\u00dfenFehler(ValueError):\n    pass\n\ndef fail():\n    raise Gr\u00f6\u00dfenFehler('zu klein')\n"),
    "huge": ((3, 8), "def fail():\n    raise RuntimeError('shapes: ' + ', '.join(f'({n}, {n})' for n in range(3000)))\n"),
    "warning": ((3, 8), "import warnings\n\ndef fail():\n    warnings.simplefilter('error')\n    warnings.warn('dtype= will be required', FutureWarning)\n"),
    "generator": (
        (3, 8),
        "def rows():\n    yield 1\n    raise LookupError('no second row')\n\ndef fail():\n    return sum(row for row in rows())\n",
    ),
    "decorated": (
        (3, 8),
        ("import functools\n\ndef timed(f):\n    @functools.wraps(f)\n    def inner(*a, **k):\n        return f(*a, **k)\n    return inner\n\n"
        "@timed\ndef launch(*, grid):\n    raise TypeError(f'grid must be a tuple, got {grid!r}')\n\ndef fail():\n    launch(grid=3)\n"),
    ),
    "async": (
        (3, 8),
        "import asyncio\n\nasync def step():\n    raise TimeoutError('rank 3 is silent')\n\nasync def run():\n    await step()\n\ndef fail():\n    step_ = run()\n    step_.send(None)\n",
    ),
    "subprocess": (
        (3, 8),
        "import subprocess, sys\n\ndef fail():\n    subprocess.run([sys.executable, '-c', 'exit(3)'], check=True)\n",
    ),
    "interrupt": ((3, 8), "def fail():\n    raise KeyboardInterrupt\n"),
    "deep": (
        (3, 8),
        "def down(n):\n    if n:\n        down(n - 1)\n    raise ValueError('at the bottom')\n\ndef fail():\n    down(9)\n",
    ),
    "comprehension": ((3, 8), "def fail():\n    return {k: [1 // v for v in (2, 1, 0)] for k in 'ab'}\n"),
    "property": (
        (3, 8),
        "class Config:\n    @property\n    def dtype(self):\n        return self._scale\n\ndef fail():\n    return Config().dtype\n",
    ),
    "suppressed": (
        (3, 8),
        "def fail():\n    try:\n        {}['x']\n    except KeyError:\n        raise ValueError('only this one') from None\n",
    ),
    "group-lines": (
        (3, 11),
        ("def one():\n    raise TypeError('not int32\\nbut int64')\n\ndef fail():\n    try:\n        one()\n    except TypeError as e:\n"
        "        raise ExceptionGroup('two\\nlines', [e, ValueError('a:\\n\\n  b')])\n"),
    ),
    "group-notes": (
        (3, 11),
        ("def fail():\n    e = ValueError('member')\n    e.add_note('of shard 3')\n    g = ExceptionGroup('noted', [e])\n"
        "    g.add_note('while loading')\n    raise g\n"),
    ),
    "group-chain": (
        (3, 11),
        ("def one():\n    try:\n        {}['k']\n    except KeyError as e:\n        raise TypeError('inner') from e\n\n"
        "def fail():\n    try:\n        one()\n    except TypeError as e:\n        group = ExceptionGroup('tasks', [e, OSError(5, 'I/O')])\n    try:\n        raise group\n    except ExceptionGroup:\n        raise RuntimeError('after the group')\n"),
    ),
    "group-many": ((3, 11), "def fail():\n    raise ExceptionGroup('many', [ValueError(f'number {n}') for n in range(12)])\n"),
    "taskgroup": (
        (3, 11),
        ("import asyncio\n\nasync def bad(n):\n    await asyncio.sleep(0)\n    raise ValueError(f'task {n} failed')\n\nasync def run():\n"
        "    async with asyncio.TaskGroup() as group:\n        for n in range(2):\n            group.create_task(bad(n))\n\ndef fail():\n    asyncio.run(run())\n"),
    ),
}  # fmt: skip

# What the libraries of this field raise, with their long messages; they are not on every interpreter.
LIBRARY_RAISERS: dict[str, tuple[str, str]] = {
    "torch-matmul": ("torch", "import torch\n\ndef fail():\n    torch.zeros(2, 3) @ torch.zeros(4, 5)\n"),
    "torch-cat": ("torch", "import torch\n\ndef fail():\n    torch.cat([torch.zeros(2, 3), torch.zeros(4)])\n"),
    "torch-embedding": (
        "torch",
        "import torch\n\ndef fail():\n    torch.nn.Embedding(4, 2)(torch.zeros(3))\n",
    ),
    "torch-check": ("torch", "import torch\n\ndef fail():\n    torch._check(False, lambda: 'x must be int32\\nbut is int64')\n"),
    "torch-state-dict": (
        "torch",
        "import torch\n\ndef fail():\n    torch.nn.Linear(2, 3).load_state_dict({'weight': torch.zeros(4, 4), 'gain': torch.zeros(1)})\n",
    ),
    "torch-inplace": (
        "torch",
        "import torch\n\ndef fail():\n    x = torch.ones(3, requires_grad=True)\n    y = x.exp()\n    y += 1\n    y.sum().backward()\n",
    ),
    "torch-load": (
        "torch",
        "import io, pathlib, torch\n\ndef fail():\n    file = io.BytesIO()\n    torch.save(pathlib.PurePosixPath('x'), file)\n    file.seek(0)\n    torch.load(file)\n",
    ),
    "dynamo-break": (
        "torch",
        ("import torch\n\n@torch.compile(fullgraph=True, backend='eager')\ndef step(x):\n    print(x)\n    return x + 1\n\n"
        "def fail():\n    step(torch.ones(2))\n"),
    ),
    "dynamo-backend": (
        "torch",
        ("import torch\n\ndef backend(graph, inputs):\n    raise TypeError('no kernel for int64\\nuse int32')\n\n"
        "@torch.compile(backend=backend)\ndef step(x):\n    return x + 1\n\ndef fail():\n    step(torch.ones(2))\n"),
    ),
    "dynamo-fake": (
        "torch",
        ("import torch\n\n@torch.compile(backend='eager')\ndef step(x):\n    return x @ torch.ones(5)\n\n"
        "def fail():\n    step(torch.ones(2, 3))\n"),
    ),
    "triton-interpreter": (
        "triton",
        ("import os\nos.environ['TRITON_INTERPRET'] = '1'\nimport torch, triton\nimport triton.language as tl\n\n@triton.jit\n"
        "def kernel(x, n: tl.constexpr):\n    tl.store(x + tl.arange(0, n), 1)\n\ndef fail():\n    kernel[(1,)](torch.zeros(3), 3)\n"),
    ),
    "triton-compiler": (
        "triton",
        ("import triton\nimport triton.language as tl\nfrom triton.backends.compiler import GPUTarget\n\n@triton.jit\n"
        "def kernel(x, n: tl.constexpr):\n    i = tl.arange(0, n)\n\n    tl.store(x + i, 1)\n\n"
        "def fail():\n    source = triton.compiler.ASTSource(kernel, {'x': '*fp32', 'n': 'constexpr'}, {'n': 3})\n"
        "    triton.compile(source, target=GPUTarget('cuda', 90, 32))\n"),
    ),
    "triton-name": (
        "triton",
        ("import triton\nimport triton.language as tl\nfrom triton.backends.compiler import GPUTarget\n\n@triton.jit\n"
        "def kernel(x):\n    tl.store(x, missing)\n\n"
        "def fail():\n    source = triton.compiler.ASTSource(kernel, {'x': '*fp32'})\n    triton.compile(source, target=GPUTarget('cuda', 90, 32))\n"),
    ),
    "einops": ("einops", "import einops, numpy\n\ndef fail():\n    einops.rearrange(numpy.zeros((2, 3)), 'a b c -> c b a')\n"),
    "numpy": ("numpy", "import numpy\n\ndef fail():\n    numpy.zeros((2, 3)) + numpy.zeros((3, 2))\n"),
}  # fmt: skip
