"""Every language gives its definitions, what stands above them, and what they refer to."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from weft import Weft
from weft.model import Filter
from weft.sources.code.languages import LANGUAGES, find_language
from weft.sources.code.outline import Outline, pack, unpack
from weft.sources.code.parse import describe_snippet, parse_outline
from weft.text import is_code


@dataclass(frozen=True)
class Sample:
    """A file and what its outline must hold: kinds by name, one signature and summary, references, imports."""

    path: str
    text: str
    symbols: dict[str, str]
    documented: tuple[str, str, str]
    refers: dict[str, set[str]]
    imports: set[str]


SAMPLES = [
    Sample(
        "shop/order.py",
        '''"""Orders of the shop."""
from shop.clock import now
from . import tax

@frozen
class Order(Base):
    """What somebody wants."""

    rate: int = 3

    def total(self, lines: Lines) -> int:
        return self.sum(lines) + now() + tax.of(lines)

def helper(order: Order) -> None:
    def inner(): ...
''',
        {"Order": "class", "Order.total": "method", "helper": "function"},
        ("Order", "class Order(Base)", "What somebody wants."),
        {"Order": {"base Base"}, "Order.total": {"call self.sum", "call now", "call tax.of", "use Lines"}},
        {"shop.clock now", ". tax"},
    ),
    Sample(
        "shop/order.ts",
        """import { now as clock } from './clock';
import Tax from './tax';
/** What somebody wants. */
export abstract class Order extends Base implements Thing {
  total(lines: Lines): number { return this.sum(lines) + clock() + Tax.of(lines); }
}
export interface Thing { doIt(): void }
type Lines = Line[];
enum Color { Red }
export const helper = async (order: Order) => { new Calc(order); };
""",
        {
            "Order": "class",
            "Order.total": "method",
            "Thing": "interface",
            "Lines": "type",
            "Color": "type",
            "helper": "function",
        },
        ("Order", "export abstract class Order extends Base implements Thing", "What somebody wants."),
        {"Order": {"base Base", "base Thing"}, "helper": {"call Calc", "use Order"}},
        {"./clock now", "./tax "},
    ),
    Sample(
        "shop/view.tsx",
        """import React from 'react';
// Shows an order.
export function View(props: Props) { return <Row onClick={go} />; }
""",
        {"View": "function"},
        ("View", "export function View(props: Props)", "Shows an order."),
        {"View": {"use Props"}},
        {"react "},
    ),
    Sample(
        "shop/order.js",
        """const clock = require('./clock');
// What somebody wants.
class Order extends Base {
  total(lines) { return this.sum(lines) + clock.now(); }
}
exports.helper = function (order) { return new Order(order); };
""",
        {"Order": "class", "Order.total": "method", "helper": "function"},
        ("Order", "class Order extends Base", "What somebody wants."),
        {"Order": {"base Base"}, "Order.total": {"call this.sum", "call clock.now"}, "helper": {"call Order"}},
        {"./clock "},
    ),
    Sample(
        "shop/order.go",
        """package shop

import cl "example.com/shop/clock"

// Order is what somebody wants.
type Order struct {
	Base
}

type Thing interface{ DoIt() }
type Lines []Line

func (o *Order) Total(lines Lines) int { return cl.Now() + helper(lines) }
func helper(lines Lines) int          { return Order{}.x }
""",
        {"Order": "class", "Thing": "interface", "Lines": "type", "Order.Total": "method", "helper": "function"},
        ("Order", "type Order", "Order is what somebody wants."),
        {"Order": {"base Base"}, "Order.Total": {"call cl.Now", "call helper", "use Lines"}},
        {"example.com/shop/clock "},
    ),
    Sample(
        "src/order.rs",
        """use crate::clock::now;

/// What somebody wants.
#[derive(Debug)]
pub struct Order { x: i32 }
pub enum Color { Red }
pub trait Thing { fn more(&self) { helper(); } }
impl Thing for Order {
    fn total(&self, lines: Lines) -> i32 { self.sum(lines) + now() + Tax::of() }
}
fn helper() {}
mod inner { pub fn deep() {} }
""",
        {
            "Order": "class",
            "Color": "type",
            "Thing": "interface",
            "Thing.more": "method",
            "Order.total": "method",
            "helper": "function",
            "inner": "module",
            "inner.deep": "function",
        },
        ("Order", "pub struct Order { x: i32 }", "What somebody wants."),
        {"Order": {"base Thing"}, "Order.total": {"call self.sum", "call now", "call Tax.of", "use Lines"}},
        {"crate::clock now"},
    ),
    Sample(
        "shop/Order.java",
        """package shop;
import shop.util.Clock;
/** What somebody wants. */
public class Order extends Base implements Thing {
  public Order(int x) { this.x = x; }
  @Override public int total(Lines lines) { return sum(lines) + clock.now() + new Calc().go(); }
}
interface Thing { void doIt(); }
enum Color { RED }
record Line(String name) {}
""",
        {
            "Order": "class",
            "Order.Order": "method",
            "Order.total": "method",
            "Thing": "interface",
            "Color": "type",
            "Line": "class",
        },
        ("Order", "public class Order extends Base implements Thing", "What somebody wants."),
        {
            "Order": {"base Base", "base Thing"},
            "Order.total": {"call sum", "call clock.now", "call Calc", "use Lines"},
        },
        {"shop.util Clock"},
    ),
    Sample(
        "order.c",
        """#include "clock.h"
#define SQUARE(x) ((x) * (x))
/* What somebody wants. */
struct order { int x; };
typedef struct { int y; } line_t;
enum color { RED };
static char *total(line_t *lines) { return helper(lines) + now(); }
""",
        {"SQUARE": "function", "order": "class", "line_t": "type", "color": "type", "total": "function"},
        ("order", "struct order", "What somebody wants."),
        {"total": {"call helper", "call now", "use line_t", "use lines"}},
        {"clock.h *"},
    ),
    Sample(
        "order.cpp",
        """#include "clock.hpp"
namespace shop {
// What somebody wants.
template <typename T>
class Order : public Base {
  int total(const Lines& lines) const { return sum(lines) + clock.now() + Tax::of(); }
};
using Lines = std::vector<Line>;
int Order::more() { return total({}); }
}
int main() { return 0; }
""",
        {
            "shop": "module",
            "shop.Order": "class",
            "shop.Order.total": "method",
            "shop.Lines": "type",
            "shop.Order.more": "method",
            "main": "function",
        },
        ("shop.Order", "template <typename T> class Order : public Base", "What somebody wants."),
        {"shop.Order": {"base Base"}, "shop.Order.total": {"call sum", "call clock.now", "call Tax.of"}},
        {"clock.hpp *"},
    ),
    Sample(
        "Order.cs",
        """using Shop.Util;
namespace Shop;
/// <summary>What somebody wants.</summary>
public class Order : Base, IThing {
  public Order(int x) { }
  [Test] public int Total(Lines lines) { return Sum(lines) + this.Tax(lines) + new Calc().Go(); }
}
public interface IThing { void DoIt(); }
public record Line(string Name);
public enum Color { Red }
""",
        {
            "Order": "class",
            "Order.Order": "method",
            "Order.Total": "method",
            "IThing": "interface",
            "Line": "class",
            "Color": "type",
        },
        ("Order", "public class Order : Base, IThing", "What somebody wants."),
        {"Order": {"base Base", "base IThing"}, "Order.Total": {"call Sum", "call this.Tax", "call Calc"}},
        {"Shop.Util *"},
    ),
    Sample(
        "order.rb",
        """require_relative 'clock'
module Shop
  # What somebody wants.
  class Order < Base
    include Loud
    def total(lines)
      sum(lines) + Clock.now
    end
    def self.make = new
  end
end
""",
        {
            "Shop": "module",
            "Shop.Order": "class",
            "Shop.Order.total": "method",
            "Shop.Order.make": "method",
        },
        ("Shop.Order", "class Order < Base", "What somebody wants."),
        {"Shop.Order": {"base Base", "base Loud"}, "Shop.Order.total": {"call sum", "call Clock.now"}},
        {"clock "},
    ),
    Sample(
        "Order.php",
        """<?php
namespace Shop;
use Shop\\Util\\Clock;
/** What somebody wants. */
class Order extends Base implements Thing {
  use Loud;
  public function total(array $lines): int { return $this->sum($lines) + Clock::now() + helper(1); }
}
interface Thing { function doIt(); }
trait Loud { function shout() {} }
function helper($a) { return $a; }
""",
        {
            "Order": "class",
            "Order.total": "method",
            "Thing": "interface",
            "Loud": "class",
            "Loud.shout": "method",
            "helper": "function",
        },
        ("Order", "class Order extends Base implements Thing", "What somebody wants."),
        {
            "Order": {"base Base", "base Thing", "base Loud"},
            "Order.total": {"call $this.sum", "call Clock.now", "call helper"},
        },
        {"Shop\\Util Clock"},
    ),
    Sample(
        "Order.kt",
        """package shop
import shop.util.Clock
/** What somebody wants. */
class Order(val x: Int) : Base(), Thing {
  fun total(lines: Lines): Int {
    return sum(lines) + clock.now()
  }
}
interface Thing {
  fun doIt()
}
object Single {
  val a = 1
}
typealias Lines = List<Line>
fun helper(a: Int) = Order(a)
""",
        {
            "Order": "class",
            "Order.total": "method",
            "Thing": "interface",
            "Single": "class",
            "Lines": "type",
            "helper": "function",
        },
        ("Order", "class Order(val x: Int) : Base(), Thing", "What somebody wants."),
        {"Order": {"base Base", "base Thing"}, "Order.total": {"call sum", "call clock.now", "use Lines"}},
        {"shop.util.Clock "},
    ),
    Sample(
        "Order.swift",
        """import Foundation
/// What somebody wants.
class Order: Base, Thing {
  init(x: Int) { self.x = x }
  func total(lines: Lines) -> Int { return sum(lines) }
}
protocol Thing { func doIt() }
struct Point { var a: Int }
enum Color { case red }
extension Order { func more() { self.total(lines: []) } }
typealias Lines = [Line]
func helper() -> Order { return Order(x: 1) }
""",
        {
            "Order": "class",
            "Order.init": "method",
            "Order.total": "method",
            "Thing": "interface",
            "Point": "class",
            "Color": "type",
            "Order.more": "method",
            "Lines": "type",
            "helper": "function",
        },
        ("Order", "class Order: Base, Thing", "What somebody wants."),
        {"Order": {"base Base", "base Thing"}, "Order.more": {"call self.total"}, "helper": {"call Order"}},
        set(),
    ),
    Sample(
        "order.sh",
        """#!/usr/bin/env bash
source ./clock.sh
# Adds it all up.
total() { helper "$1"; }
function other { total; }
""",
        {"total": "function", "other": "function"},
        ("total", "total()", "Adds it all up."),
        {"total": {"call helper"}, "other": {"call total"}},
        {"./clock.sh *"},
    ),
    Sample(
        "order.sql",
        """-- What somebody wants.
CREATE TABLE shop.orders (id INT PRIMARY KEY, customer INT REFERENCES customers(id));
CREATE VIEW open_orders AS SELECT * FROM orders;
CREATE FUNCTION total(a INT) RETURNS INT AS $$ SELECT sum(x) FROM orders $$ LANGUAGE sql;
""",
        {"orders": "type", "open_orders": "type", "total": "function"},
        ("orders", "CREATE TABLE shop.orders", "What somebody wants."),
        {"orders": {"use customers"}, "open_orders": {"use orders"}, "total": {"use orders"}},
        set(),
    ),
    Sample(
        "shop/Order.vue",
        """<template>
  <p>{{ total }}</p>
</template>

<script setup lang="ts">
import { now } from './clock';
/** What somebody wants. */
function total(lines: Lines): number { return now() + tax.of(lines); }
</script>
""",
        {"total": "function"},
        ("total", "function total(lines: Lines): number", "What somebody wants."),
        {"total": {"call now", "call tax.of", "use Lines"}},
        {"./clock now"},
    ),
    Sample(
        "shop/Order.svelte",
        """<script>
  import { now } from './clock';
  // What somebody wants.
  export function total(lines) { return now(); }
</script>
<button on:click={total}>{'<'}</button>
""",
        {"total": "function"},
        ("total", "export function total(lines)", "What somebody wants."),
        {"total": {"call now"}},
        {"./clock now"},
    ),
    Sample(
        "shop/order.scala",
        """package shop
import shop.clock.now
/** What somebody wants. */
class Order(val id: Int) extends Base with Thing {
  def total(lines: Lines): Int = sum(lines) + now() + Tax.of(lines)
}
trait Thing { def doIt(): Unit }
object Tax
type Lines = List[Line]
enum Color { case Red }
def helper(order: Order): Unit = new Calc(order)
""",
        {
            "Order": "class",
            "Order.total": "method",
            "Thing": "interface",
            "Thing.doIt": "method",
            "Tax": "class",
            "Lines": "type",
            "Color": "type",
            "helper": "function",
        },
        ("Order", "class Order(val id: Int) extends Base with Thing", "What somebody wants."),
        {
            "Order": {"base Base", "base Thing"},
            "Order.total": {"call sum", "call now", "call Tax.of", "use Lines"},
            "helper": {"call Calc", "use Order"},
        },
        {"shop.clock.now "},
    ),
    Sample(
        "shop/order.ex",
        """defmodule Shop.Order do
  alias Shop.Clock
  use GenServer

  # What somebody wants.
  def total(lines) do
    sum(lines) + Clock.now()
  end

  defp sum(lines) when is_list(lines), do: Enum.sum(lines)
end
""",
        {"Shop.Order": "module", "Shop.Order.total": "function", "Shop.Order.sum": "function"},
        ("Shop.Order.total", "def total(lines)", "What somebody wants."),
        {"Shop.Order": {"base GenServer"}, "Shop.Order.total": {"call sum", "call Clock.now"}},
        {"Shop.Clock ", "GenServer "},
    ),
    Sample(
        "shop/order.lua",
        """local clock = require("shop.clock")
local Order = {}
-- What somebody wants.
function Order:total(lines) return self:sum(lines) + clock.now() end
function Order.new() end
local function helper(order) return Order.new(order) end
Order.go = function(x) return plain() end
""",
        {"Order.total": "method", "Order.new": "method", "helper": "function", "Order.go": "method"},
        ("Order.total", "function Order:total(lines)", "What somebody wants."),
        {"Order.total": {"call self.sum", "call clock.now"}, "helper": {"call Order.new", "use order"}},
        {"shop.clock "},
    ),
    Sample(
        "Shop/Order.hs",
        """module Shop.Order (total) where
import Shop.Clock (now)
import qualified Shop.Tax as Tax
import Data.List

data Order = Order { held :: Lines }
type Lines = [Line]
class Thing a where
  doIt :: a -> Int
instance Thing Order where
  doIt x = 1

-- | What somebody wants.
total :: Lines -> Int
total [] = 0
total ls = sum ls + now + Tax.of ls + extra 1
  where extra x = x
""",
        {
            "Order": "type",
            "Lines": "type",
            "Thing": "interface",
            "Thing.doIt": "method",
            "Thing.doIt~2": "method",
            "total": "function",
        },
        ("total", "total :: Lines -> Int", "What somebody wants."),
        {"total": {"call sum", "use now", "call Tax.of", "use Lines"}},
        {"Shop.Clock now", "Shop.Tax ", "Data.List *"},
    ),
    Sample(
        "shop/order.zig",
        """const std = @import("std");
const clock = @import("clock.zig");
/// What somebody wants.
const Order = struct {
    pub fn total(self: Order, lines: Lines) u32 {
        return self.sum(lines) + clock.now();
    }
};
const Color = enum { red };
pub fn helper(order: Order) void {
    calc(order);
}
""",
        {"Order": "class", "Order.total": "method", "Color": "type", "helper": "function"},
        ("Order", "const Order", "What somebody wants."),
        {"Order.total": {"call self.sum", "call clock.now", "use Lines"}, "helper": {"call calc", "use Order"}},
        {"std ", "clock.zig "},
    ),
]


def outlined(sample: Sample) -> Outline:
    language = find_language(sample.path)
    assert language is not None
    return parse_outline(sample.text, language)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.path)
def test_every_language_gives_its_definitions_and_what_they_refer_to(sample: Sample) -> None:
    outline = outlined(sample)
    found = {symbol.name: symbol for symbol in outline.symbols}
    assert {name: symbol.kind for name, symbol in found.items()} == sample.symbols
    name, signature, summary = sample.documented
    assert (found[name].signature, found[name].summary) == (signature, summary)
    for holder, names in sample.refers.items():
        result = {f"{r.kind} {r.on}.{r.name}" if r.on else f"{r.kind} {r.name}" for r in found[holder].references}
        assert names <= result
    assert {f"{each.module} {each.item}" for each in outline.imports} == sample.imports
    assert not outline.broken


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.path)
def test_lines_are_those_of_the_file_and_begin_with_what_stands_above(sample: Sample) -> None:
    lines = sample.text.split("\n")
    documented = next(each for each in outlined(sample).symbols if each.name == sample.documented[0])
    result = "\n".join(lines[documented.first_line - 1 : documented.last_line])
    assert sample.documented[2] in result
    assert sample.documented[0].rpartition(".")[2] in result


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.path)
def test_an_outline_is_the_same_after_it_was_put_away(sample: Sample) -> None:
    outline = outlined(sample)
    assert unpack(pack(outline)) == outline


def test_there_is_a_sample_of_every_language() -> None:
    assert {find_language(sample.path) for sample in SAMPLES} == set(LANGUAGES)


def test_every_language_is_known_to_be_code() -> None:
    assert all(is_code(language.name) for language in LANGUAGES)


def test_a_syntax_error_leaves_what_parsed() -> None:
    language = find_language("broken.py")
    assert language is not None
    outline = parse_outline("def good():\n    pass\n\ndef bad(:\n    ]]\n\ndef other():\n    good()\n", language)
    assert outline.broken
    assert {"good", "other"} <= {symbol.name for symbol in outline.symbols}


@pytest.mark.parametrize(
    ("path", "text", "signature"),
    [
        ("a.py", "class Node:\n    # Set this for nodes that come first.\n    first = False\n", "class Node"),
        ("a.py", "def run(a):  # noqa: D103\n    return a\n", "def run(a)"),
        ("a.rb", "class Node\n  # Runs.\n  def run\n  end\nend\n", "class Node"),
    ],
)
def test_a_comment_above_the_body_is_no_part_of_the_signature(path: str, text: str, signature: str) -> None:
    language = find_language(path)
    assert language is not None
    assert parse_outline(text, language).symbols[0].signature == signature


def test_a_name_that_is_defined_twice_has_two_outlines() -> None:
    language = find_language("twice.py")
    assert language is not None
    outline = parse_outline(
        "class A:\n    @property\n    def x(self): ...\n    @x.setter\n    def x(self, y): ...\n", language
    )
    assert [symbol.name for symbol in outline.symbols] == ["A", "A.x", "A.x~2"]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", 'def add(self, a):\n        """Adds."""\n        return a'),
        ("python", '@cached\nasync def add(a):\n    """Adds."""\n    return a'),
        ("ruby", "# Adds.\ndef add(a, b)\n  a + b\nend"),
        ("go", "// Adds.\nfunc (t *T) Add(a int) int {\n\treturn a\n}"),
        ("rust", "/// Adds.\npub fn add(a: u8) -> u8 {\n    a\n}"),
        ("php", "/**\n * Adds.\n */\npublic function add($a)\n{\n    return $a;\n}"),
        ("php", "// Adds.\nfunction add($a) {\n    return $a;\n}"),
        ("javascript", "// Adds.\nfunction add(a) {\n  return a;\n}"),
        ("javascript", "// Adds.\nconst add = (a) => {\n  return a;\n};"),
        ("java", "/** Adds. */\npublic static int add(int a) {\n    return a;\n}"),
    ],
)
def test_a_text_that_is_a_definition_is_recognised_with_its_summary(language: str, text: str) -> None:
    assert describe_snippet(text) == (language, "Adds.")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "def f(x) is what I wrote.\nIt did not work.\nWhy?",
        "class notes:\n\nBring a pen.\nBring paper.\nBring a friend.",
        "# Heading\n\nfunction is a word.",
        "public opinion (as of May) changed.\nNobody knows why.",
        "Look at this:\n\ndef f(x):\n    return x\n",
        "/*" * 2_000,
        "def " * 2_000,
    ],
)
def test_prose_that_begins_like_code_stays_prose(text: str) -> None:
    assert describe_snippet(text) is None


TITLED_TESTS = {
    "shop/order.test.js": """
describe('Order', function () {
  function make(lines) { return new Order(lines) }

  describe("with `tax`", () => {
    it('adds it (once)', async () => { make([]).total() })
    test.each([1, 2])('adds %i', (rate) => { make([]).total(rate) })
  })
})
it('is empty at first', () => make([]))
""",
    "shop/order.test.ts": """
describe('Order', () => {
  const make = (lines: Line[]) => new Order(lines)
  describe('with tax', () => {
    it('adds it once', async () => { make([]).total() })
    it.each([1, 2])(`adds %i`, (rate: number) => { make([]).total(rate) })
  })
})
it('is empty at first', () => make([]))
""",
    "shop/order_spec.rb": """
describe "Order" do
  def make(lines) = Order.new(lines)

  context "with tax" do
    it "adds it #once" do
      make([]).total
    end
    specify("adds %i") { make([]).total(2) }
  end
end
it "is empty at first" do
  make([])
end
""",
}


@pytest.mark.parametrize("path", TITLED_TESTS)
def test_a_test_that_is_a_call_with_a_title_is_a_function_of_that_title(path: str) -> None:
    language = find_language(path)
    assert language is not None
    outline = parse_outline(TITLED_TESTS[path], language)
    kinds = {symbol.name: symbol.kind for symbol in outline.symbols}
    assert kinds == {
        "make": "function",
        "Order with tax adds it once": "function",
        "Order with tax adds %i": "function",
        "is empty at first": "function",
    }
    once = next(symbol for symbol in outline.symbols if symbol.name.endswith("once"))
    assert "make" in {reference.name for reference in once.references}
    assert "it" in once.signature
    assert TITLED_TESTS[path].split("\n")[once.first_line - 1].strip().startswith("it")


def test_tests_of_a_class_of_elixir_and_of_a_macro_of_cpp_have_their_titles() -> None:
    elixir, cpp = find_language("order_test.exs"), find_language("order_test.cc")
    assert elixir is not None
    assert cpp is not None
    text = (
        'defmodule OrderTest do\ndescribe "total" do\ntest "adds tax", %{order: o} do\ntotal(o)\nend\nend\nend\n'
    )
    assert [symbol.name for symbol in parse_outline(text, elixir).symbols] == [
        "OrderTest",
        "OrderTest total adds tax",
    ]
    text = "TEST_F(OrderTest, AddsTax) { total(); }\nint total() { return 1; }\n"
    assert [symbol.name for symbol in parse_outline(text, cpp).symbols] == ["OrderTest AddsTax", "total"]


def test_a_test_that_a_macro_of_rust_makes_is_a_function_of_its_name() -> None:
    rust = find_language("misc.rs")
    assert rust is not None
    text = (
        "// Lists.\nmytest!(lists_files, |dir: Dir| {\n    dir.create();\n});\ncriterion_group!(benches, one);\n"
    )
    assert [(each.name, each.kind, each.first_line) for each in parse_outline(text, rust).symbols] == [
        ("lists_files", "function", 1)
    ]


def test_tests_of_rust_are_test_code_wherever_they_stand(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").write_text(
        "/// Weigh it.\npub fn weigh() -> u8 { 1 }\n\n#[cfg(test)]\n#[test]\nfn weighs() { weigh(); }\n\n"
        "#[tokio::test]\nasync fn waits() { weigh(); }\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n"
        "    #[test]\n    fn weighs_one() { assert_eq!(weigh(), 1); }\n}\n"
    )
    with Weft.open(tmp_path / "store", embedder=None) as weft:
        weft.index(tmp_path / "src")
        tagged = {node.title for node in weft.nodes(filter=Filter(tags=("test-code",)))}
    assert {"weighs", "waits", "tests.weighs_one"} <= tagged
    assert "weigh" not in tagged
