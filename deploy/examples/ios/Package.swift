// swift-tools-version:6.0
import PackageDescription

// Copy the folder `Sources/NativeApp` into an app, or add this package to it. What needs no phone also builds and runs its
// tests on Linux: `swift test`.
let package = Package(
    name: "NativeApp",
    platforms: [.iOS("17.4"), .macOS("14.4")],
    products: [.library(name: "NativeApp", targets: ["NativeApp"])],
    targets: [
        .target(name: "NativeApp"),
        .testTarget(name: "NativeAppTests", dependencies: ["NativeApp"]),
    ]
)
