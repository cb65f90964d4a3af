import Msgr
import ServiceKit

/// All services that are built in: the only list of plug-ins.
let services: [any Service.Type] = [MsgrService.self]
