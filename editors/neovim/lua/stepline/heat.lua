--- Heat: marks lines by what they cost on the GPU, from `stepline/lineCosts`. Marks are extmarks, so they move with edits;
--- after a pause in typing they are asked for anew.
local M = {}

local config = require("stepline.config")

local namespace = vim.api.nvim_create_namespace("stepline.heat")

-- From cold to hot. Lightness grows with heat, so the order shows without colour vision too, and the sign grows with it.
local levels = {
  { group = "SteplineHeat1", sign = "▏", dark = "#5c6f8a", light = "#9aa7b8" },
  { group = "SteplineHeat2", sign = "▎", dark = "#4f9da6", light = "#3f8f98" },
  { group = "SteplineHeat3", sign = "▌", dark = "#c9b458", light = "#8f7a1e" },
  { group = "SteplineHeat4", sign = "▊", dark = "#ef8f3c", light = "#c25a00" },
  { group = "SteplineHeat5", sign = "█", dark = "#ff5a36", light = "#a11500" },
}

--- Defines the highlight groups; a colour scheme or the user may define them first.
function M.define_highlights()
  local function define()
    for _, level in ipairs(levels) do
      vim.api.nvim_set_hl(0, level.group, { fg = level[vim.o.background] or level.dark, default = true })
    end
    vim.api.nvim_set_hl(0, "SteplineCost", { link = "Comment", default = true })
    vim.api.nvim_set_hl(0, "SteplineStale", { link = "NonText", default = true })
  end
  define()
  vim.api.nvim_create_autocmd("ColorScheme", {
    group = vim.api.nvim_create_augroup("stepline.highlights", { clear = true }),
    callback = define,
  })
end

local function level_of(heat)
  if heat >= 0.75 then
    return levels[5]
  elseif heat >= 0.4 then
    return levels[4]
  elseif heat >= 0.15 then
    return levels[3]
  elseif heat >= 0.05 then
    return levels[2]
  end
  return levels[1]
end

local function mark(bufnr, row, options)
  local stale = row.stale == true
  local level = level_of(row.heat)
  local extmark = { strict = false, invalidate = true }
  if options.signs then
    extmark.sign_text = level.sign
    extmark.sign_hl_group = stale and "SteplineStale" or level.group
  end
  if options.virtual_text then
    local us = row.cuda_self_us + row.cuda_backward_us
    extmark.virt_text = { { require("stepline.status").duration(us), stale and "SteplineStale" or "SteplineCost" } }
    extmark.virt_text_pos = "eol"
  end
  vim.api.nvim_buf_set_extmark(bufnr, namespace, row.line - 1, 0, extmark)
end

--- Asks for the costs of a buffer's lines and marks them.
function M.refresh(client, bufnr)
  local options = config.get().heat
  if not (options.signs or options.virtual_text) then
    return
  end
  local params = { textDocument = vim.lsp.util.make_text_document_params(bufnr) }
  require("stepline.server").request(client, "stepline/lineCosts", params, function(err, result)
    if not vim.api.nvim_buf_is_valid(bufnr) then
      return
    end
    vim.api.nvim_buf_clear_namespace(bufnr, namespace, 0, -1)
    if err or type(result) ~= "table" then
      return
    end
    local last = vim.api.nvim_buf_line_count(bufnr)
    for _, row in ipairs(result.lines or {}) do
      if type(row.heat) == "number" and row.heat >= options.threshold and row.line <= last then
        mark(bufnr, row, options)
      end
    end
  end, bufnr)
end

--- Keeps a buffer's heat fresh while a client is attached to it.
function M.attach(client, bufnr)
  M.refresh(client, bufnr)
  local group = vim.api.nvim_create_augroup("stepline.heat." .. bufnr, { clear = true })
  local timer
  vim.api.nvim_create_autocmd({ "TextChanged", "InsertLeave", "BufWritePost" }, {
    group = group,
    buffer = bufnr,
    callback = function()
      if timer then
        timer:stop()
      end
      timer = vim.defer_fn(function()
        if vim.api.nvim_buf_is_valid(bufnr) and not client.is_stopped(client) then
          M.refresh(client, bufnr)
        end
      end, 150)
    end,
  })
  vim.api.nvim_create_autocmd("LspDetach", {
    group = group,
    buffer = bufnr,
    callback = function(event)
      if event.data.client_id == client.id then
        vim.api.nvim_buf_clear_namespace(bufnr, namespace, 0, -1)
        vim.api.nvim_clear_autocmds({ group = group })
      end
    end,
  })
end

--- Turns the marks of all buffers on or off; returns whether they are on now.
function M.toggle()
  local options = config.get().heat
  options.signs = not options.signs
  for _, client in ipairs(vim.lsp.get_clients({ name = "stepline" })) do
    for bufnr in pairs(client.attached_buffers) do
      vim.api.nvim_buf_clear_namespace(bufnr, namespace, 0, -1)
      M.refresh(client, bufnr)
    end
  end
  return options.signs
end

--- The extmark namespace, for those who draw the marks elsewhere.
function M.namespace()
  return namespace
end

return M
