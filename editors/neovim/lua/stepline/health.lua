--- :checkhealth stepline
local M = {}

function M.check()
  local health = vim.health
  local config = require("stepline.config")

  health.start("stepline: Neovim")
  if vim.fn.has("nvim-0.10") == 1 then
    health.ok("Neovim " .. tostring(vim.version()))
  else
    health.error("Neovim 0.10 or newer is needed")
  end

  health.start("stepline: server")
  local command, reason = config.command()
  if not command then
    health.error(reason)
  else
    local done = vim.system({ command[1], "version" }, { text = true }):wait(5000)
    if done.code == 0 then
      health.ok(vim.trim(done.stdout) .. " (" .. command[1] .. ")")
    else
      health.error(("`%s version` failed: %s"):format(command[1], vim.trim(done.stderr or "")))
    end
  end
  local clients = vim.lsp.get_clients({ name = "stepline" })
  if #clients == 0 then
    health.info("no server runs; it starts with the first Python file after require(\"stepline\").setup{}")
  end
  for _, client in ipairs(clients) do
    health.ok(("running for %s, %d buffers"):format(client.config.root_dir or "?", vim.tbl_count(client.attached_buffers)))
  end

  health.start("stepline: trace")
  local text = require("stepline.status").text()
  if text == "" then
    health.info("none loaded; :Stepline load TRACE, or record one with :Stepline record")
  else
    health.ok(text)
  end

  health.start("stepline: recording")
  local python = vim.fn.exepath("python3") ~= "" and vim.fn.exepath("python3") or vim.fn.exepath("python")
  if python == "" then
    health.warn("no python on PATH: `stepline record` runs your script with it")
  else
    local done = vim.system({ python, "-c", "import torch; print(torch.__version__)" }, { text = true }):wait(30000)
    if done.code == 0 then
      health.ok("torch " .. vim.trim(done.stdout) .. " (" .. python .. ")")
    else
      health.info(python .. " has no torch; `stepline record` needs it, everything else does not")
    end
  end
end

return M
