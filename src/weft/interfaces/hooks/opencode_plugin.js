// Weft's hooks for opencode, written by `weft install opencode --hooks`; with --remove it deletes this file.
//
// Each hook hands its event to `weft-hook`, in the shape that other clients use, and adds what that answers. Whatever
// goes wrong, opencode goes on as if the plugin were not there.

import { spawn } from "node:child_process"

const COMMAND = ["weft-hook"]
// The program ends by itself long before that.
const DEADLINE_MS = 15000

function ask(event) {
  return new Promise((resolve) => {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { cwd: event.cwd, stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), DEADLINE_MS)
    let printed = ""
    child.on("error", () => resolve(""))
    child.stdin.on("error", () => resolve(""))
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (part) => (printed += part))
    child.on("close", () => {
      clearTimeout(timer)
      try {
        resolve(printed ? JSON.parse(printed).hookSpecificOutput.additionalContext : "")
      } catch {
        resolve("")
      }
    })
    child.stdin.end(JSON.stringify(event))
  })
}

export const Weft = async ({ directory }) => {
  const created = new Set()
  const greeted = new Set()
  const commands = new Map()
  const send = async (name, session, fields) => {
    try {
      return await ask({ hook_event_name: name, session_id: session, cwd: directory, ...fields })
    } catch {
      return ""
    }
  }
  return {
    event: async ({ event }) => {
      if (event.type === "session.created") created.add(event.properties?.info?.id)
    },
    // No hook at the start of a session can add to it, so the first message carries what is told there.
    "chat.message": async (input, output) => {
      const session = input.sessionID
      const texts = []
      if (!greeted.has(session)) {
        greeted.add(session)
        texts.push(await send("SessionStart", session, { source: created.has(session) ? "startup" : "resume" }))
      }
      const written = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = written.map((part) => part.text).join("\n")
      texts.push(await send("UserPromptSubmit", session, { prompt }))
      const text = texts.filter(Boolean).join("\n\n")
      if (!text) return
      const messageID = output.message.id
      const id = `prt_weft${messageID}`
      output.parts.push({ id, sessionID: session, messageID, type: "text", text, synthetic: true })
    },
    // Some versions name the command only before it runs, others only after.
    "tool.execute.before": async (input, output) => {
      if (input.tool === "bash") commands.set(input.callID, output.args?.command)
    },
    "tool.execute.after": async (input, output) => {
      const command = input.args?.command ?? commands.get(input.callID) ?? ""
      commands.delete(input.callID)
      if (input.tool !== "bash" && !input.tool.endsWith("start_experience")) return
      const text = await send("PostToolUse", input.sessionID, {
        tool_name: input.tool === "bash" ? "Bash" : input.tool,
        tool_input: { command },
        tool_response: { stdout: output.output, exit_code: output.metadata?.exit },
      })
      if (text) output.output += `\n\n${text}`
    },
    "experimental.session.compacting": async (input, output) => {
      const text = await send("PreCompact", input.sessionID, {})
      if (text) output.context.push(text)
    },
  }
}
