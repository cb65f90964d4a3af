import Apptimist
import Msgr
import ServiceKit
import TokenScriptRepo

/// All services that are built in: the only list of plug-ins.
let services: [any Service.Type] = [
  TokenScriptService.self, MsgrService.self, ApptimistService.self,
]
