--- The subcommands of :Stepline.
local M = {}

local config = require("stepline.config")
local server = require("stepline.server")
local status = require("stepline.status")

local function problem(text)
  vim.notify("stepline: " .. text, vim.log.levels.ERROR)
end

local function with_client(action)
  local client = server.client()
  if not client then
    problem("no server runs for this buffer; open a Python file, or see :checkhealth stepline")
    return
  end
  action(client)
end

local function scratch(name, filetype, lines)
  vim.cmd("botright new")
  local bufnr = vim.api.nvim_get_current_buf()
  vim.bo[bufnr].buftype = "nofile"
  vim.bo[bufnr].bufhidden = "wipe"
  vim.bo[bufnr].swapfile = false
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable = false
  vim.bo[bufnr].filetype = filetype
  pcall(vim.api.nvim_buf_set_name, bufnr, name)
  vim.keymap.set("n", "q", "<cmd>close<cr>", { buffer = bufnr, desc = "close" })
  return bufnr
end

local function found_traces(root)
  local found = {}
  for _, pattern in ipairs({ "**/*.pt.trace.json*", "**/*trace.json.gz", "**/*trace.json", "**/*.sqlite" }) do
    for _, path in ipairs(vim.fn.globpath(root, pattern, false, true)) do
      found[path] = vim.fn.getftime(path)
    end
  end
  local paths = vim.tbl_keys(found)
  table.sort(paths, function(a, b)
    return found[a] > found[b]
  end)
  return paths
end

local function load_paths(client, paths)
  local arguments = {}
  for _, path in ipairs(paths) do
    arguments[#arguments + 1] = vim.fn.fnamemodify(path, ":p")
  end
  server.execute(client, "stepline.loadTrace", arguments, function(err, result)
    if err then
      problem(err)
      return
    end
    local trace = type(result) == "table" and result.trace or {}
    local text = ("loaded %s"):format(table.concat(trace.files or paths, ", "))
    if trace.steps and trace.steps > 0 then
      text = ("%s: %d steps of %s"):format(text, trace.steps, status.duration(trace.step_mean_us))
    end
    vim.notify("stepline: " .. text)
  end)
end

--- :Stepline load [TRACE…]; without a name, choose among the traces under the workspace, the newest first.
function M.load(paths)
  with_client(function(client)
    if #paths > 0 then
      load_paths(client, paths)
      return
    end
    local root = client.config.root_dir or vim.fn.getcwd()
    local candidates = found_traces(root)
    if #candidates == 0 then
      problem("no trace found under " .. root .. "; record one with :Stepline record, or name one: :Stepline load FILE")
      return
    end
    vim.ui.select(candidates, { prompt = "Load a trace", format_item = function(path)
      return vim.fn.fnamemodify(path, ":.")
    end }, function(choice)
      if choice then
        load_paths(client, { choice })
      end
    end)
  end)
end

--- :Stepline unload
function M.unload()
  with_client(function(client)
    server.execute(client, "stepline.unloadTrace", {}, function(err)
      if err then
        problem(err)
      end
    end)
  end)
end

--- :Stepline report [markdown|text|json|html]; html opens in the browser.
function M.report(arguments)
  local format = arguments[1] or "markdown"
  with_client(function(client)
    server.request(client, "stepline/report", { format = format }, function(err, result)
      if err then
        problem(err)
        return
      end
      if format == "html" then
        local path = vim.fn.tempname() .. ".html"
        vim.fn.writefile(vim.split(result.content, "\n"), path)
        vim.ui.open(path)
        return
      end
      scratch("stepline://report", format == "text" and "" or format, vim.split(result.content, "\n"))
    end)
  end)
end

local function per_step(client)
  local last = status.get()
  local steps = last and last.steps
  return type(steps) == "number" and steps > 0 and steps or nil
end

--- GPU time of a row for people, a step where the trace has steps.
local function row_text(row, steps, total)
  local us = row.cuda_self_us + row.cuda_backward_us
  local text = steps and status.duration(us / steps) .. " a step" or status.duration(us)
  if total and total > 0 then
    text = ("%s · %.1f %%"):format(text, 100 * us / total)
  end
  return ("%s · %s"):format(text, row["function"])
end

local function gpu_us(row)
  return row.cuda_self_us + row.cuda_backward_us
end

--- Calls use(rows, steps, total µs, folder) with the cost rows of the whole run.
local function run_rows(client, use)
  server.request(client, "stepline/report", { format = "json" }, function(err, result)
    local ok, report = pcall(vim.json.decode, result and result.content or "")
    if err or not ok then
      problem(err or "the server's report could not be read")
      return
    end
    local steps = report.trace.steps * math.max(report.trace.ranks, 1)
    use(report.lines, steps > 0 and steps or nil, report.trace.gpu_total_us, client.config.root_dir or vim.fn.getcwd())
  end)
end

--- :Stepline hot [N]: the N (20) most expensive lines of the run in the quickfix list.
function M.hot(arguments)
  local count = tonumber(arguments[1]) or 20
  with_client(function(client)
    run_rows(client, function(rows, steps, total, folder)
      table.sort(rows, function(a, b)
        return gpu_us(a) > gpu_us(b)
      end)
      local items = {}
      for i = 1, math.min(count, #rows) do
        local row = rows[i]
        items[i] = { filename = vim.fs.joinpath(folder, row.file), lnum = row.line, col = 1, text = row_text(row, steps, total) }
      end
      if #items == 0 then
        problem("no line of this workspace ran in the trace")
        return
      end
      vim.fn.setqflist({}, " ", { title = "stepline: GPU time", items = items })
      vim.cmd("botright copen")
    end)
  end)
end

--- :Stepline lines: every line of this file with a cost, in a window; Enter jumps to it.
function M.lines()
  local source = vim.api.nvim_get_current_buf()
  with_client(function(client)
    local params = { textDocument = vim.lsp.util.make_text_document_params(source) }
    server.request(client, "stepline/lineCosts", params, function(err, result)
      if err then
        problem(err)
        return
      end
      local rows = result.lines or {}
      table.sort(rows, function(a, b)
        return a.line < b.line
      end)
      local steps = per_step(client)
      local scale = steps and 1 / steps or 1
      local text = { ("%5s  %9s  %9s  %9s  %s"):format("line", "forward", "backward", "GPU idle", "") }
      for _, row in ipairs(rows) do
        local code = vim.api.nvim_buf_get_lines(source, row.line - 1, row.line, false)[1] or ""
        text[#text + 1] = ("%5d  %9s  %9s  %9s  %s"):format(row.line, status.duration(row.cuda_self_us * scale),
          status.duration(row.cuda_backward_us * scale), status.duration(row.gpu_idle_us * scale), vim.trim(code))
      end
      if #rows == 0 then
        text[2] = "No line of this file ran in a loaded trace."
      end
      local bufnr = scratch("stepline://lines", "", text)
      vim.keymap.set("n", "<CR>", function()
        local row = rows[vim.api.nvim_win_get_cursor(0)[1] - 1]
        local window = vim.fn.bufwinid(source)
        if row and window ~= -1 then
          vim.api.nvim_set_current_win(window)
          vim.api.nvim_win_set_cursor(window, { row.line, 0 })
        end
      end, { buffer = bufnr, desc = "go to the line" })
    end, source)
  end)
end

local function rule_under_cursor()
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  for _, diagnostic in ipairs(vim.diagnostic.get(0, { lnum = line })) do
    if diagnostic.source == "stepline" and diagnostic.code then
      return tostring(diagnostic.code)
    end
  end
end

--- :Stepline explain [RULE]: the rule's page; without a name, of the finding on this line.
function M.explain(arguments)
  local rule = arguments[1] or rule_under_cursor()
  if not rule then
    problem("no finding on this line; name a rule: :Stepline explain SYN001")
    return
  end
  local command, reason = config.command()
  if not command then
    problem(reason)
    return
  end
  local done = vim.system({ command[1], "explain", rule }, { text = true }):wait(10000)
  if done.code ~= 0 then
    problem(vim.trim(done.stderr ~= "" and done.stderr or "explain failed"))
    return
  end
  scratch("stepline://rules/" .. rule, "markdown", vim.split(vim.trim(done.stdout), "\n"))
end

--- The folder that the arguments of `stepline record` write to, nil where they do not say.
local function output_of(arguments)
  for i, word in ipairs(arguments) do
    if word == "--" then
      return nil
    elseif word == "-o" or word == "--output" then
      return arguments[i + 1]
    end
    local given = word:match("^%-%-output=(.+)$") or word:match("^%-o(.+)$")
    if given then
      return given
    end
  end
end

--- :Stepline record [ARGS…]: runs `stepline record` in a terminal, without arguments on this file, and loads what it wrote
--- when it ends.
function M.record(arguments)
  local command, reason = config.command()
  if not command then
    problem(reason)
    return
  end
  local client = server.client()
  local folder = config.root(0) or vim.fn.getcwd()
  local output = output_of(arguments)
  local words = { command[1], "record" }
  if not output then
    -- In the workspace, where the next session finds it too.
    output = vim.fs.joinpath("runs", os.date("%Y-%m-%dT%H-%M-%S"))
    vim.list_extend(words, { "--output", output })
  end
  if #arguments == 0 then
    vim.list_extend(words, { "--", "python", vim.api.nvim_buf_get_name(0) })
  else
    vim.list_extend(words, arguments)
  end
  local written = vim.startswith(output, "/") and output or vim.fs.joinpath(folder, output)
  vim.cmd("botright new")
  local options = { cwd = folder, on_exit = function()
    if client and not client.is_stopped(client) and #found_traces(written) > 0 then
      load_paths(client, { written })
    end
  end }
  if vim.fn.has("nvim-0.11") == 1 then
    options.term = true
    vim.fn.jobstart(words, options)
  else
    vim.fn.termopen(words, options)
  end
end

--- :Stepline heat: marks on or off.
function M.heat()
  local on = require("stepline.heat").toggle()
  vim.notify("stepline: heat is " .. (on and "on" or "off"))
end

local order = { "load", "unload", "report", "lines", "hot", "explain", "record", "heat" }

--- Runs a subcommand with its words.
function M.run(words)
  local name = words[1]
  if not name then
    problem("which one? :Stepline " .. table.concat(order, "|"))
    return
  end
  if not vim.tbl_contains(order, name) then
    problem(("there is no :Stepline %s; use %s"):format(name, table.concat(order, ", ")))
    return
  end
  M[name](vim.list_slice(words, 2))
end

--- Completion for :Stepline.
function M.complete(lead, line)
  local words = vim.split(vim.trim(line), "%s+")
  if #words < 2 or (#words == 2 and lead ~= "") then
    return vim.tbl_filter(function(name)
      return vim.startswith(name, lead)
    end, order)
  end
  if words[2] == "load" then
    return vim.fn.getcompletion(lead, "file")
  elseif words[2] == "report" then
    return vim.tbl_filter(function(name)
      return vim.startswith(name, lead)
    end, { "markdown", "text", "json", "html" })
  end
  return {}
end

return M
