--- What setup{} was told, over the defaults.
local M = {}

local defaults = {
  --- The command that starts the server; nil finds `stepline` on PATH, then in ~/.local/bin.
  cmd = nil,
  filetypes = { "python" },
  --- The workspace is the nearest folder upwards that holds one of these, else the file's own folder.
  root_markers = { "stepline.toml", "pyproject.toml", "setup.py", ".git" },
  --- Server settings, nested by their dots: { traces = { "run/*.json.gz" }, inlayHints = { threshold = 0.01 } }.
  settings = {},
  --- Shows GPU time at line ends through inlay hints.
  inlay_hints = true,
  --- Shows step times over training loops.
  code_lens = true,
  heat = {
    --- Marks lines in the sign column by their share of the hottest line.
    signs = true,
    --- Writes the line's GPU time at the line's end for those who do without inlay hints.
    virtual_text = false,
    --- Lines under this share of the hottest line stay unmarked.
    threshold = 0.01,
  },
  --- Called as on_attach(client, bufnr) after stepline attached.
  on_attach = nil,
}

local current = vim.deepcopy(defaults)

local types = {
  cmd = { "table" },
  filetypes = { "table" },
  root_markers = { "table" },
  settings = { "table" },
  inlay_hints = { "boolean" },
  code_lens = { "boolean" },
  heat = { "table", "boolean" },
  on_attach = { "function" },
}

--- Takes the user's options; returns a list of what could not be used, the rest holds.
--- @param options table
--- @return string[]
function M.set(options)
  local problems = {}
  local usable = {}
  for key, value in pairs(options) do
    local wanted = types[key]
    if not wanted then
      problems[#problems + 1] = ("setup{} knows no option %q; see :help stepline-setup"):format(tostring(key))
    elseif not vim.tbl_contains(wanted, type(value)) then
      problems[#problems + 1] = ("option %s wants a %s, not a %s"):format(key, table.concat(wanted, " or "), type(value))
    else
      usable[key] = value
    end
  end
  if type(usable.heat) == "boolean" then
    usable.heat = { signs = usable.heat, virtual_text = false }
  end
  current = vim.tbl_deep_extend("force", vim.deepcopy(defaults), usable)
  table.sort(problems)
  return problems
end

--- The options that hold.
--- @return table
function M.get()
  return current
end

--- The command that starts the server, nil and a reason if there is none.
--- @return string[]|nil, string|nil
function M.command()
  if current.cmd then
    if vim.fn.executable(current.cmd[1]) == 0 then
      return nil, ("cmd = { %q } is not executable"):format(current.cmd[1])
    end
    return current.cmd
  end
  for _, candidate in ipairs({ "stepline", vim.fs.normalize("~/.local/bin/stepline"), vim.fs.normalize("~/go/bin/stepline") }) do
    local path = vim.fn.exepath(candidate)
    if path ~= "" then
      return { path, "lsp" }
    end
  end
  return nil, "the program `stepline` is not on PATH; install it (make install) or name it: setup{ cmd = { \"/path/to/stepline\", \"lsp\" } }"
end

--- The workspace folder of a buffer.
--- @param bufnr integer
--- @return string|nil
function M.root(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  if name == "" then
    return nil
  end
  return vim.fs.root(bufnr, current.root_markers) or vim.fs.dirname(vim.fs.normalize(name))
end

return M
