internal import Apptimist
internal import Msgr
internal import PushServer
internal import ServiceKit
internal import TokenScriptRepo

/// All services that are built in: the only list of plug-ins.
let services: [any Service.Type] = [
  TokenScriptService.self, MsgrService.self, ApptimistService.self, PushServerService.self,
]
