-- The main job in a real Neovim: gpt.py opened beside its trace shows findings, GPU time at line ends, the numbers behind
-- it, and mends a finding.
local h = require("harness")
local buf

local function line_of(text)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
    if line:find(text, 1, true) then
      return number
    end
  end
  error("no line has " .. text)
end

local function diagnostics_on(line)
  return vim.diagnostic.get(buf, { lnum = line - 1 })
end

local function codes_on(line)
  return vim.tbl_map(function(d)
    return tostring(d.code)
  end, diagnostics_on(line))
end

--- Applies the first quick fix on a line whose title has the words, as a user's key would.
local function apply_action(line, words)
  local diagnostics = diagnostics_on(line)
  assert(#diagnostics > 0, "no finding on line " .. line)
  vim.api.nvim_win_set_cursor(0, { line, diagnostics[1].col })
  local offered, chosen = {}, nil
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action)
      offered[#offered + 1] = action.title
      if chosen or not action.title:find(words, 1, true) then
        return false
      end
      chosen = action.title
      return true
    end,
  })
  h.eventually("an action about " .. words, function()
    return chosen ~= nil
  end, function()
    return offered
  end)
end

return {
  { "the server starts for a Python file", function()
    require("stepline").setup({ cmd = { vim.env.STEPLINE, "lsp" } })
    vim.cmd.edit("gpt.py")
    buf = vim.api.nvim_get_current_buf()
    h.eventually("an initialized client", function()
      local client = vim.lsp.get_clients({ name = "stepline", bufnr = buf })[1]
      return client and client.initialized
    end)
    local client = vim.lsp.get_clients({ name = "stepline" })[1]
    assert(client.config.root_dir == vim.uv.fs_realpath(vim.fn.getcwd()), "root is the folder of the file, got " .. client.config.root_dir)
  end },

  { "findings are diagnostics", function()
    local line = line_of("p.grad.norm().item()")
    h.eventually("a finding on the .item() line", function()
      return vim.tbl_contains(codes_on(line), "SYN001") or vim.tbl_contains(codes_on(line), "SYN006")
    end, function()
      return vim.diagnostic.get(buf)
    end)
    local diagnostic = diagnostics_on(line)[1]
    assert(diagnostic.source == "stepline", "source is stepline")
    assert(#diagnostic.message > 20, "the message says something: " .. diagnostic.message)
  end },

  { "the trace beside the file is loaded and named in the statusline", function()
    h.eventually("the status of the trace", function()
      return require("stepline").statusline():find("ms/step", 1, true) ~= nil
    end, function()
      return require("stepline").statusline()
    end)
    h.contains(require("stepline").statusline(), "58.6 ms/step")
  end },

  { "line ends show GPU time on the screen", function()
    local line = line_of("return self.down(F.gelu(self.up(x)))")
    h.eventually("an inlay hint on the MLP's line", function()
      return #vim.lsp.inlay_hint.get({ bufnr = buf, range = { start = { line = line - 1, character = 0 }, ["end"] = { line = line, character = 0 } } }) > 0
    end)
    local drawn
    h.eventually("the hint on the screen", function()
      drawn = h.screen_line(line)
      return drawn:find("3.58 ms", 1, true) ~= nil
    end, function()
      return drawn
    end)
    h.contains(drawn, "return self.down(F.gelu(self.up(x)))")
    assert(drawn:match("3%.58 ms · %d+ %%") or drawn:match("3%.58 ms · [%d%.]+ %%"), "time and share are drawn: " .. drawn)
  end },

  { "the hover shows the numbers", function()
    vim.api.nvim_win_set_cursor(0, { line_of("return self.down(F.gelu(self.up(x)))"), 8 })
    vim.lsp.buf.hover()
    local text, float = h.float_text("a hover window")
    h.contains(text:lower(), "forward")
    h.contains(text:lower(), "backward")
    h.contains(text, "1.12 ms")
    h.contains(text, "2.46 ms")
    h.contains(text:lower(), "exact")
    vim.api.nvim_win_close(float, true)
  end },

  { "hot lines are marked in the sign column", function()
    local namespace = require("stepline.heat").namespace()
    h.eventually("heat marks", function()
      return #vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, {}) > 5
    end)
    local line = line_of("logits = self.head(self.norm(x))")
    local marks = vim.api.nvim_buf_get_extmarks(buf, namespace, { line - 1, 0 }, { line - 1, -1 }, { details = true })
    assert(#marks == 1, "one mark on the head's line")
    assert(marks[1][4].sign_hl_group:match("^SteplineHeat[1-5]$"), "in a heat colour")
    local row = h.screen_line(line)
    assert(row:find("[▏▎▌▊█]"), "the sign is drawn: " .. row)
  end },

  { "a quick fix is applied and saved", function()
    local line = line_of("opt = torch.optim.AdamW(model.parameters(), lr=3e-4)")
    h.eventually("the optimizer's finding", function()
      return vim.tbl_contains(codes_on(line), "OPT002")
    end, function()
      return codes_on(line)
    end)
    apply_action(line, "fused=True")
    h.eventually("the edit of the buffer", function()
      return vim.api.nvim_buf_get_lines(buf, line - 1, line, false)[1] == "    opt = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)"
    end, function()
      return vim.api.nvim_buf_get_lines(buf, line - 1, line, false)
    end)
    h.eventually("the finding to go", function()
      return not vim.tbl_contains(codes_on(line), "OPT002")
    end)
    vim.cmd("silent write")
    h.contains(table.concat(vim.fn.readfile("gpt.py"), "\n"), "lr=3e-4, fused=True)")
  end },

  { "a finding is ignored where it stands", function()
    local line = line_of("print(step, loss.item(), norm)")
    apply_action(line, "Ignore")
    h.eventually("the comment", function()
      return vim.api.nvim_buf_get_lines(buf, line - 1, line, false)[1]:find("# stepline: ignore[SYN", 1, true) ~= nil
    end)
    h.eventually("the line to be silent", function()
      return #diagnostics_on(line) == 0
    end, function()
      return diagnostics_on(line)
    end)
  end },

  { "time stays on its line when lines are put above it", function()
    vim.api.nvim_buf_set_lines(buf, 0, 0, false, { "# one", "# two" })
    local line = line_of("return self.down(F.gelu(self.up(x)))")
    local drawn
    h.eventually("the hint on the moved line", function()
      drawn = h.screen_line(line)
      return drawn:find("3.58 ms", 1, true) ~= nil
    end, function()
      return drawn
    end)
  end },

  { "leaving stops the server", function()
    local client = vim.lsp.get_clients({ name = "stepline" })[1]
    require("stepline.server").stop(client)
    h.eventually("the server to stop", function()
      return vim.lsp.get_client_by_id(client.id) == nil
    end)
  end },
}
