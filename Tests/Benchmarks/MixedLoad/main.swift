internal import Foundation

// mixed-load AWD [SECONDS]: runs all three services at half of their full speed for SECONDS (600). Memory must stay
// level.

let arguments = CommandLine.arguments.dropFirst()
guard let program = arguments.first, let seconds = Int(arguments.dropFirst().first ?? "600"),
  seconds >= 30
else {
  print("usage: mixed-load AWD [SECONDS, 30 or more]")
  exit(2)
}
do {
  let server = try ServerUnderLoad(program)
  defer { server.stop() }
  try await server.waitUntilReady()
  let load = try await MixedLoad(server)
  let isLevel = try await load.run(for: seconds)
  server.stop()
  exit(isLevel ? 0 : 1)
} catch {
  print("mixed-load: \(error)")
  exit(1)
}
