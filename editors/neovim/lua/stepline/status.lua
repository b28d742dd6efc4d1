--- What the server last said about the loaded trace (`stepline/status`), one state per client.
local M = {}

local by_client = {}

--- @param client_id integer
--- @param status table
function M.update(client_id, status)
  by_client[client_id] = status
  vim.api.nvim_exec_autocmds("User", { pattern = "SteplineStatus", modeline = false })
  vim.cmd.redrawstatus()
end

--- The last status of the buffer's server, nil if it never spoke.
--- @param bufnr integer|nil
function M.get(bufnr)
  local client = require("stepline.server").client(bufnr)
  return client and by_client[client.id] or nil
end

--- Microseconds for people, with three digits and a unit.
--- @param us number
function M.duration(us)
  local function digits(value, unit)
    local decimals = value >= 99.95 and 0 or value >= 9.995 and 1 or 2
    return ("%." .. decimals .. "f %s"):format(value, unit)
  end
  if us <= 0 then
    return "0"
  elseif us < 0.9995 then
    return digits(us * 1000, "ns")
  elseif us < 999.5 then
    return digits(us, "µs")
  elseif us < 999.5e3 then
    return digits(us / 1e3, "ms")
  end
  return digits(us / 1e6, "s")
end

--- "58.6 ms/step · launch-bound · trace.json.gz", "" without a trace.
--- @param bufnr integer|nil
function M.text(bufnr)
  local status = M.get(bufnr)
  if not status then
    return ""
  end
  local function word(value)
    return type(value) == "string" and value ~= "" and value or nil
  end
  local parts = {}
  if status.loading == true then
    parts[#parts + 1] = "loading trace"
  end
  if type(status.step_us) == "number" and status.step_us > 0 then
    parts[#parts + 1] = M.duration(status.step_us) .. "/step"
  end
  parts[#parts + 1] = word(status.class)
  if word(status.trace) then
    parts[#parts + 1] = vim.fs.basename((status.trace:gsub("/$", ""))) -- a folder of ranks ends in a slash
  end
  if status.stale == true then
    parts[#parts + 1] = "stale"
  end
  return table.concat(parts, " · ")
end

return M
