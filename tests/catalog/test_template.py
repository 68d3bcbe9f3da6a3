"""Templates compare with the whole message, in linear time, whatever the pattern's author had in mind."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raiselens_catalog import CatalogError, Hole, Template, guard_slug, record_id, slug
from raiselens_catalog.expression import template_of_expression
from raiselens_catalog.template import BLANKS


def test_a_closing_hole_takes_everything_that_is_left():
    template = Template.from_pattern(
        r"kv-canary: scatter_req_token_ids pool_out must be int32, got (.+?)",
        "kv-canary: scatter_req_token_ids pool_out must be int32, got {pool_out.dtype}",
    )
    message = "kv-canary: scatter_req_token_ids pool_out must be int32, got torch.int64"
    assert template.match(message) == {"pool_out.dtype": "torch.int64"}


@pytest.mark.parametrize(
    ("template", "message", "captures"),
    [
        ("a {x} c", "a b c", {"x": "b"}),
        ("a {x} c", "a  c", {"x": ""}),
        ("a {x} c", "a c", None),
        ("a {x} c", "a b c d", None),
        ("a {x} c", "a b c c", {"x": "b c"}),
        ("{x} is {y}", "k is v is w", {"x": "k", "y": "v is w"}),
        ("{x}{y} end", "both end", {"x": "", "y": "both"}),
        ("got {x}", "got two\nlines", {"x": "two\nlines"}),
        ("whole", "whole", {}),
        ("whole", "whole \n", {}),
        ("whole ", "whole", {}),
        ("whole", " whole", None),
        ("size {x}, size {x}", "size 1, size 2", {"x": "1"}),
        ("{'a' if b else '}'} of {d['k}']}", "1 of 2", {"'a' if b else '}'": "1", "d['k}']": "2"}),
        ("ab{x}ba", "aba", None),
        ("{a}xx{b}xx", "xxx", None),
        ("{a}xx{b}xx", "xxxx", {"a": "", "b": ""}),
        ("日本 {x} 語", "日本 é 語", {"x": "é"}),
    ],
)
def test_matching(template: str, message: str, captures: dict[str, str] | None):
    assert Template.from_message(template).match(message) == captures


@pytest.mark.parametrize("template", ["", "{x}", "{x}{y}", ": {x}", "({x})"])
def test_a_template_without_words_matches_nothing(template: str):
    assert Template.from_message(template).match(template) is None


literals = st.text(st.characters(codec="utf-8", exclude_characters="{}"), max_size=8)
holes = st.from_regex(r"[a-z_]{1,6}(\.[a-z]{1,4})?", fullmatch=True).map(Hole)


@st.composite
def templates(draw: st.DrawFn):
    parts = draw(st.lists(literals | holes, max_size=8))
    return Template.from_parts([*parts, draw(st.sampled_from(["word", " 7", "b!"]))])


@given(template=templates(), data=st.data())
def test_a_rendered_template_matches(template: Template, data: st.DataObject):
    values = {expr: data.draw(st.text(max_size=6)) for expr in template.holes}
    message = template.render(values)
    captures = template.match(message)
    assert captures is not None
    assert template.render(captures).rstrip(BLANKS) == message.rstrip(BLANKS) or len(set(template.holes)) < len(
        template.holes
    )


@given(template=templates())
def test_message_and_pattern_give_the_template_back(template: Template):
    assert Template.from_message(template.message) == template
    assert Template.from_pattern(template.pattern, template.message).parts == template.parts


@given(template=templates(), message=st.text(max_size=30))
def test_matching_agrees_with_the_regular_expression(template: Template, message: str):
    *parts, last = template.parts
    parts.append(last.rstrip(BLANKS) if isinstance(last, str) else last)
    pattern = "".join(re.escape(part) if isinstance(part, str) else "(?:.*)" for part in parts)
    for text in (message, template.message, template.message + message):
        assert (template.match(text) is not None) == bool(re.fullmatch(pattern, text.rstrip(BLANKS), re.DOTALL))


def test_a_long_message_of_near_misses_is_linear():
    template = Template.from_parts([part for _ in range(50) for part in (Hole("x"), "aab")] + ["!"])
    assert template.match("aa" * 500_000) is None


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a+)+$", "`(` is neither escaped nor part of a hole"),
        ("x[0]", "`[` is neither escaped"),
        ("a|b", "`|` is neither escaped"),
        ("a{1,9}", "`{` is neither escaped"),
        (r"\d+ rows", r"`\d` is a class or a reference"),
        (r"(.+?)\1", r"`\1` is a class or a reference"),
        ("a\\", "ends in a lone backslash"),
        ("(?=a)", "`(` is neither escaped"),
        ("(.+?)+", "`+` is neither escaped"),
    ],
)
def test_hostile_patterns_are_refused_with_a_reason(pattern: str, reason: str):
    with pytest.raises(CatalogError, match=re.escape(reason)) as caught:
        Template.from_pattern(pattern)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "template"),
    [
        (r"size \(\d+\)".replace(r"\d+", ".*"), "size ({1})"),
        (r"^a (.+?)\.$", "a {1}."),
        (r"a\nb", "a\nb"),
        ("torch.int64", "torch.int64"),
        (r"(?:.+?) x (.*)", "{1} x {2}"),
    ],
)
def test_patterns_that_are_understood(pattern: str, template: str):
    assert Template.from_pattern(pattern) == Template.from_message(template)


@pytest.mark.parametrize(
    ("source", "template"),
    [
        ("'plain'", "plain"),
        ("f'{x} and {y.z!r:>10}'", "{x} and {y.z}"),
        ("'a' f'{b}' 'c'", "a{b}c"),
        ("'got %s of %d%%' % (a, b.c)", "got {a} of {b.c}%"),
        ("'got %(name)s' % d", "got {name}"),
        ("'one %s' % value", "one {value}"),
        ("'{} {1.a} {k[0]} {{}}'.format(p, q, k=r)", "{p} {q.a} {r[0]} {}"),
        ("'a ' + str(n) + f' {m}'", "a {n} {m}"),
        ("make(x)", "{make(x)}"),
        ("f'{1}' 'a'", "{1}a"),
        ("'a' % ()", "a"),
    ],
)
def test_expressions(source: str, template: str):
    made = template_of_expression(source)
    assert made is not None
    assert made.message == template


@pytest.mark.parametrize("source", ["", "f'{'", "a b", "(" * 3000])
def test_no_expression(source: str):
    assert template_of_expression(source) is None


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        (
            "kv-canary: scatter_req_token_ids pool_out must be int32, got {pool_out.dtype}",
            "kv-canary-scatter-req-token-ids-pool-out-must-be-int32",
        ),
        ("x must be 1-D, got shape {tuple(x.shape)}", "x-must-be-1-d"),
        ("x must be 1-D (got {x.dim()})", "x-must-be-1-d"),
        ("Expected 3 but got {n}.", "expected-3"),
        ("got {n}; set FLAG to go on", "got-n-set-flag-to-go-on"),
        ("x must be even, got {n}. Set FLAG to go on", "x-must-be-even-got-n-set-flag-to-go-on"),
        ("f() got an unexpected keyword argument {name!r}", "f-got-an-unexpected-keyword-argument-name-r"),
        ("File not found: {path}", "file-not-found-path"),
        ("{message}", "message"),
    ],
)
def test_slugs(message: str, rule: str):
    assert slug(message) == rule


def test_a_long_slug_is_cut_at_a_word_and_told_apart_by_a_hash():
    first, second = (slug("word " * 60 + end) for end in ("one", "two"))
    assert first != second
    assert re.fullmatch(r"(word-)+[0-9a-f]{8}", first)
    assert len(first) <= 160


def test_slugs_of_nothing_differ():
    assert slug("{}") != slug("()")


def test_guards_without_a_message_have_a_slug():
    assert guard_slug("pkg.mod.Cls.run", "x.dim() == 2") == "pkg-mod-cls-run-x-dim-2"


def test_ids_are_the_same_on_every_machine():
    assert record_id("acme/kernels", "src/a.py", "TypeError", "x {y}") == "bfd241bb644055ef"
