if vim.g.loaded_stepline then
  return
end
vim.g.loaded_stepline = true

vim.api.nvim_create_user_command("Stepline", function(command)
  require("stepline.commands").run(command.fargs)
end, {
  nargs = "*",
  desc = "stepline: GPU cost of training code",
  complete = function(lead, line)
    return require("stepline.commands").complete(lead, line)
  end,
})
