// Load a plugin of opencode as opencode does, call its hooks in turn, and print what each call left.

import { readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

const [file, directory] = process.argv.slice(2)
const turns = JSON.parse(readFileSync(0, "utf8"))
const { Weft } = await import(pathToFileURL(file))
const hooks = await Weft({ directory, worktree: directory, project: {}, client: {}, $: null })
const left = []
for (const { hook, input, output } of turns) {
  await hooks[hook](input, output)
  left.push({ hook, said: input.args?.command ?? "", output: output ?? null })
}
console.log(JSON.stringify(left))
