-- nvim --headless --clean -u test/init.lua: STEPLINE is the program, PLUGIN this plugin, TEST the file to run, all absolute.
vim.o.swapfile = false
vim.o.shadafile = "NONE"
vim.o.columns = 160
vim.o.lines = 50
vim.opt.runtimepath:prepend(vim.env.PLUGIN)
package.path = vim.env.PLUGIN .. "/test/?.lua;" .. package.path
vim.cmd("filetype on")
vim.api.nvim_create_autocmd("VimEnter", {
  once = true,
  callback = function()
    vim.schedule(function()
      local harness = require("harness")
      local ok, tests = xpcall(dofile, debug.traceback, vim.env.TEST)
      harness.run(ok and tests or { { "loading " .. vim.env.TEST, function()
        error(tests)
      end } })
    end)
  end,
})
