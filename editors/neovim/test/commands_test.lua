-- Every :Stepline subcommand, :checkhealth and :help, against the real server.
local h = require("harness")
local buf
local notes = {}

local function last_note()
  return notes[#notes] or ""
end

local function wait_for_note(part)
  h.eventually("a note about " .. part, function()
    return last_note():find(part, 1, true) ~= nil
  end, function()
    return notes
  end)
end

local function current_text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
end

local function wait_for_buffer(name)
  h.eventually("the buffer " .. name, function()
    return vim.api.nvim_buf_get_name(0):find(name, 1, true) ~= nil
  end, function()
    return vim.api.nvim_buf_get_name(0)
  end)
end

return {
  { "without a trace nothing is loaded", function()
    vim.notify = function(text)
      notes[#notes + 1] = text
    end
    vim.uv.fs_mkdir("runs", 493)
    vim.uv.fs_rename("trace.json.gz", "runs/run.gz") -- no usual name: nothing is discovered
    require("stepline").setup({ cmd = { vim.env.STEPLINE, "lsp" }, unknown = 1 })
    wait_for_note('knows no option "unknown"')
    vim.cmd.edit("gpt.py")
    buf = vim.api.nvim_get_current_buf()
    h.eventually("findings", function()
      return #vim.diagnostic.get(buf) > 0
    end)
    assert(require("stepline").statusline() == "", "no status without a trace: " .. require("stepline").statusline())
  end },

  { ":Stepline load names what is wrong", function()
    vim.fn.writefile({ '{"traceEvents": 17}' }, "vocab.json")
    vim.cmd("Stepline load vocab.json")
    wait_for_note("vocab.json")
    assert(#vim.diagnostic.get(buf) > 0, "the lint goes on")
  end },

  { ":Stepline load loads", function()
    vim.cmd("Stepline load runs/run.gz")
    wait_for_note("2 steps of 58.6 ms")
    h.eventually("the statusline", function()
      return require("stepline").statusline():find("58.6 ms/step", 1, true) ~= nil
    end)
  end },

  { ":Stepline hot fills the quickfix list", function()
    vim.cmd("Stepline hot 5")
    h.eventually("the quickfix list", function()
      return #vim.fn.getqflist() > 0
    end, function()
      return notes
    end)
    local items = vim.fn.getqflist()
    assert(#items == 5, #items .. " items")
    assert(items[1].lnum == 63, "the MLP's line is the hottest, got " .. items[1].lnum)
    h.contains(items[1].text, "3.58 ms a step")
    h.contains(items[1].text, "MLP.forward")
    vim.cmd("cclose")
    vim.cmd("cfirst")
    assert(vim.api.nvim_get_current_buf() == buf and vim.api.nvim_win_get_cursor(0)[1] == 63, "it jumps")
  end },

  { ":Stepline lines lists this file and jumps", function()
    vim.cmd("Stepline lines")
    wait_for_buffer("stepline://lines")
    h.contains(current_text(), "return self.down(F.gelu(self.up(x)))")
    h.contains(current_text(), "1.12 ms")
    vim.fn.search("logits = self.head")
    vim.api.nvim_feedkeys(vim.keycode("<CR>"), "x", false)
    assert(vim.api.nvim_get_current_buf() == buf, "back in the file")
    h.contains(vim.api.nvim_get_current_line(), "logits = self.head")
    vim.cmd("only")
  end },

  { ":Stepline report shows the report", function()
    vim.cmd("Stepline report markdown")
    wait_for_buffer("stepline://report")
    assert(vim.bo.filetype == "markdown", vim.bo.filetype)
    h.contains(current_text(), "gpt.py")
    vim.cmd("close")
  end },

  { ":Stepline explain prints a rule's page", function()
    vim.cmd("Stepline explain SYN001")
    wait_for_buffer("stepline://rules/SYN001")
    h.contains(current_text(), "SYN001")
    h.contains(current_text(), "## Why it costs")
    vim.cmd("close")
    vim.fn.search("torch.isnan(loss)")
    vim.cmd("Stepline explain")
    wait_for_buffer("stepline://rules/SYN002")
    vim.cmd("close")
    vim.cmd("Stepline explain NOPE")
    wait_for_note("NOPE")
  end },

  { ":Stepline heat turns the marks off and on", function()
    local namespace = require("stepline.heat").namespace()
    local function marks()
      return #vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, {})
    end
    h.eventually("marks", function()
      return marks() > 0
    end)
    vim.cmd("Stepline heat")
    assert(marks() == 0, "off")
    vim.cmd("Stepline heat")
    h.eventually("marks again", function()
      return marks() > 0
    end)
  end },

  { "a wrong subcommand says what there is", function()
    vim.cmd("Stepline frobnicate")
    wait_for_note("load, unload, report")
    assert(vim.deep_equal(vim.fn.getcompletion("Stepline re", "cmdline"), { "report", "record" }), "completion")
    assert(vim.deep_equal(vim.fn.getcompletion("Stepline report m", "cmdline"), { "markdown" }), "completion of formats")
  end },

  { ":Stepline unload forgets the trace", function()
    vim.cmd("Stepline unload")
    h.eventually("an empty statusline", function()
      return require("stepline").statusline() == ""
    end, function()
      return require("stepline").statusline()
    end)
    h.eventually("no hints", function()
      return #vim.lsp.inlay_hint.get({ bufnr = buf }) == 0
    end)
  end },

  { ":Stepline record loads what it wrote when it ends", function()
    -- The command stands in for a script that trains: it writes a trace where the recorder would.
    vim.cmd("Stepline record --output=runs/new -- cp runs/run.gz runs/new/train.trace.json.gz")
    assert(vim.bo.buftype == "terminal", "it runs in a terminal")
    wait_for_note("runs/new/train.trace.json.gz: 2 steps of 58.6 ms")
    h.eventually("the statusline", function()
      return require("stepline").statusline():find("ms/step · launch-bound · new", 1, true) ~= nil
    end, function()
      return require("stepline").statusline()
    end)
    vim.cmd("bwipeout!")
    vim.cmd("Stepline record")
    h.eventually("a folder named by the time", function()
      return #vim.fn.glob("runs/20*T*", false, true) == 1
    end)
    vim.cmd("bwipeout!")
  end },

  { ":checkhealth stepline", function()
    vim.cmd("checkhealth stepline")
    h.contains(current_text(), "stepline: server")
    h.contains(current_text(), vim.env.STEPLINE)
    h.contains(current_text(), "running for")
    assert(not current_text():find("ERROR", 1, true), current_text())
    vim.cmd("bwipeout")
  end },

  { ":help stepline, whose tags setup made", function()
    vim.cmd("help stepline-setup")
    h.contains(current_text(), "require(\"stepline\").setup{")
    vim.cmd("close")
  end },
}
