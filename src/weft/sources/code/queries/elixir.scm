(call target: (identifier) @_kind (arguments . (alias) @name) (do_block) @body
  (#any-of? @_kind "defmodule" "defprotocol")) @module
(call target: (identifier) @_kind (arguments . (call target: (identifier) @name)) (do_block)? @body
  (#any-of? @_kind "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate")) @function
(call target: (identifier) @_kind (arguments . (identifier) @name) (do_block)? @body
  (#any-of? @_kind "def" "defp" "defmacro" "defmacrop")) @function
(call target: (identifier) @_kind
  (arguments . (binary_operator left: (call target: (identifier) @name) operator: "when")) (do_block)? @body
  (#any-of? @_kind "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp")) @function

(call target: (identifier) @_test (arguments . (string) @name) (do_block) @body (#any-of? @_test "test" "property")) @test
(call target: (identifier) @_suite (arguments . (string) @name) (do_block) (#any-of? @_suite "describe")) @suite

(call target: (identifier) @_kind (arguments . (alias) @base) (#any-of? @_kind "use" "@behaviour"))
(call target: (identifier) @call
  (#not-any-of? @call
    "alias" "def" "defdelegate" "defguard" "defguardp" "defimpl" "defmacro" "defmacrop" "defmodule" "defp" "defprotocol"
    "defstruct" "doc" "import" "moduledoc" "require" "spec" "use"))
(call target: (dot left: (_) @on right: (identifier) @call))

(call target: (identifier) @_import (arguments . (alias) @from)
  (#any-of? @_import "alias" "import" "require" "use"))
