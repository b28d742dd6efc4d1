--- stepline for Neovim 0.10 and newer: starts the language server for Python buffers and adds what plain LSP has no word
--- for: heat in the sign column, the list of hot lines, the report, and loading traces. See :help stepline.
local M = {}

local config = require("stepline.config")

--- Makes `:help stepline` work where no plugin manager has made the tags.
local function ensure_help_tags()
  local page = vim.api.nvim_get_runtime_file("doc/stepline.txt", false)[1]
  local doc = page and vim.fs.dirname(page)
  if doc and vim.fn.filewritable(doc) == 2 and not vim.uv.fs_stat(vim.fs.joinpath(doc, "tags")) then
    pcall(vim.cmd.helptags, vim.fn.fnameescape(doc))
  end
end

--- Starts stepline for every Python buffer, now and later.
--- @param options table|nil see :help stepline-setup
function M.setup(options)
  if vim.fn.has("nvim-0.10") == 0 then
    vim.notify("stepline: this plugin needs Neovim 0.10 or newer", vim.log.levels.ERROR)
    return
  end
  local problems = config.set(options or {})
  for _, problem in ipairs(problems) do
    vim.notify("stepline: " .. problem, vim.log.levels.WARN)
  end
  ensure_help_tags()
  require("stepline.heat").define_highlights()
  require("stepline.server").enable()
end

--- One short text for a statusline: step time, bottleneck class, trace; "" where no trace is loaded.
--- @param bufnr integer|nil
--- @return string
function M.statusline(bufnr)
  return require("stepline.status").text(bufnr)
end

--- Loads traces: files, folders or globs, relative to the working directory. Several are ranks or inputs of one run.
--- @param paths string[]
function M.load(paths)
  require("stepline.commands").load(paths)
end

return M
