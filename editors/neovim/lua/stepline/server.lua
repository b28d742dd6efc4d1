--- Starting the language server and talking to it, on the LSP client Neovim brings. 0.11 has vim.lsp.config and
--- vim.lsp.enable; 0.10 gets an autocommand with vim.lsp.start.
local M = {}

local config = require("stepline.config")

local NAME = "stepline"

--- The client of a buffer, nil if there is none.
--- @param bufnr integer|nil
function M.client(bufnr)
  local clients = vim.lsp.get_clients({ name = NAME, bufnr = bufnr or vim.api.nvim_get_current_buf() })
  return clients[1] or vim.lsp.get_clients({ name = NAME })[1]
end

--- Sends a request; callback(error message or nil, result).
function M.request(client, method, params, callback, bufnr)
  local function handler(err, result)
    callback(err and (err.message or tostring(err)) or nil, result)
  end
  if vim.fn.has("nvim-0.11") == 1 then
    return client:request(method, params, handler, bufnr)
  end
  return client.request(method, params, handler, bufnr)
end

--- Runs a server command; callback(error message or nil, result).
function M.execute(client, command, arguments, callback)
  return M.request(client, "workspace/executeCommand", { command = command, arguments = arguments }, callback)
end

local function refresh(client_id)
  local client = vim.lsp.get_client_by_id(client_id)
  if not client then
    return
  end
  for bufnr in pairs(client.attached_buffers) do
    require("stepline.heat").refresh(client, bufnr)
    if config.get().code_lens then
      M.refresh_lenses(bufnr)
    end
  end
end

--- Asks for the code lenses of a buffer anew; 0.12 keeps them fresh by itself once enabled.
function M.refresh_lenses(bufnr)
  if vim.lsp.codelens.enable then
    vim.lsp.codelens.enable(true, { bufnr = bufnr })
  else
    vim.lsp.codelens.refresh({ bufnr = bufnr })
  end
end

local function on_attach(client, bufnr)
  local options = config.get()
  if options.inlay_hints then
    vim.lsp.inlay_hint.enable(true, { bufnr = bufnr })
  end
  if options.code_lens then
    M.refresh_lenses(bufnr)
  end
  require("stepline.heat").attach(client, bufnr)
  if options.on_attach then
    options.on_attach(client, bufnr)
  end
end

local function client_options(command)
  -- An empty Lua table would go out as a JSON list.
  local settings = next(config.get().settings) and config.get().settings or vim.empty_dict()
  return {
    name = NAME,
    cmd = command,
    init_options = settings,
    settings = { stepline = settings },
    handlers = {
      ["stepline/status"] = function(_, status, context)
        require("stepline.status").update(context.client_id, status)
        refresh(context.client_id)
      end,
    },
    -- Neovim asks these before the server when a code lens or an action names them.
    commands = {
      ["stepline.openReport"] = function()
        require("stepline.commands").report({})
      end,
      ["stepline.explainRule"] = function(command_sent)
        require("stepline.commands").explain(command_sent.arguments or {})
      end,
    },
    on_attach = on_attach,
  }
end

--- Stops a client in the way of the running Neovim.
function M.stop(client)
  if vim.fn.has("nvim-0.11") == 1 then
    client:stop()
  else
    client.stop()
  end
end

local function start(bufnr, command)
  local root = config.root(bufnr)
  if not root or vim.bo[bufnr].buftype ~= "" then
    return
  end
  local client_config = client_options(command)
  client_config.root_dir = root
  vim.lsp.start(client_config, { bufnr = bufnr })
end

--- Starts the server for Python buffers, those open now included.
function M.enable()
  local command, problem = config.command()
  if not command then
    vim.notify("stepline: " .. problem, vim.log.levels.ERROR)
    return
  end
  local options = config.get()
  if vim.lsp.config and vim.lsp.enable then
    local client_config = client_options(command)
    client_config.name = nil
    client_config.filetypes = options.filetypes
    client_config.root_dir = function(bufnr, on_dir)
      local root = config.root(bufnr)
      if root and vim.bo[bufnr].buftype == "" then
        on_dir(root)
      end
    end
    vim.lsp.config(NAME, client_config)
    vim.lsp.enable(NAME)
    return
  end
  vim.api.nvim_create_autocmd("FileType", {
    group = vim.api.nvim_create_augroup("stepline", { clear = true }),
    pattern = options.filetypes,
    callback = function(event)
      start(event.buf, command)
    end,
  })
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) and vim.tbl_contains(options.filetypes, vim.bo[bufnr].filetype) then
      start(bufnr, command)
    end
  end
end

return M
