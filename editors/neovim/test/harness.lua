--- A few words for tests that run inside a real, headless Neovim. A test file returns a list of { name, function }; they run
--- in order in one Neovim, and a failed one stops its file because later ones build on it.
local M = {}

--- Waits until condition() is true, at most 20 s; fails with what was waited for and, if given, describe().
function M.eventually(what, condition, describe)
  local met = vim.wait(20000, condition, 10)
  if not met then
    error("waited in vain for " .. what .. (describe and (": " .. vim.inspect(describe())) or ""), 2)
  end
end

--- Fails unless text contains part, plainly.
function M.contains(text, part)
  if not text:find(part, 1, true) then
    error(("%s is not in:\n%s"):format(vim.inspect(part), text), 2)
  end
end

--- The text of a line as drawn on the screen, row from 1.
function M.screen_row(row)
  vim.cmd("redraw!")
  local cells = {}
  for column = 1, vim.o.columns do
    cells[column] = vim.fn.screenstring(row, column)
  end
  return table.concat(cells)
end

--- The text drawn on the screen for a buffer line of the current window.
function M.screen_line(line)
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  vim.cmd("normal! zt")
  vim.cmd("redraw!")
  local position = vim.fn.screenpos(0, line, 1)
  return M.screen_row(position.row)
end

--- Waits for a floating window and returns its text and window.
function M.float_text(what)
  local float
  M.eventually(what, function()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(window).relative ~= "" then
        float = window
      end
    end
    return float ~= nil
  end)
  local buffer = vim.api.nvim_win_get_buf(float)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n"), float
end

--- Runs the tests, prints one line each and `N passed, N failed`, and leaves Neovim with 0 or 1.
function M.run(tests)
  local passed, failed = 0, 0
  for _, test in ipairs(tests) do
    local ok, err = xpcall(test[2], debug.traceback)
    if ok then
      passed = passed + 1
      io.stdout:write("ok   " .. test[1] .. "\n")
    else
      failed = 1
      io.stdout:write("FAIL " .. test[1] .. "\n" .. err .. "\n")
      break
    end
  end
  failed = failed == 0 and 0 or #tests - passed
  io.stdout:write(("%d passed, %d failed\n"):format(passed, failed))
  io.stdout:flush()
  vim.cmd(failed == 0 and "qall!" or "cquit 1")
end

return M
