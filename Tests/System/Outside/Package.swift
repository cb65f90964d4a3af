// swift-tools-version: 6.2
import PackageDescription

// An app's package, which takes `WalletClient` as any other would, but by path.
let package = Package(
  name: "outside",
  dependencies: [.package(name: "awd", path: "../../..")],
  targets: [
    .executableTarget(
      name: "wallet", dependencies: [.product(name: "WalletClient", package: "awd")],
      path: "Sources")
  ])
