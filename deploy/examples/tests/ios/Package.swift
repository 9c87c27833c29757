// swift-tools-version:6.0
import PackageDescription

// The example's sources, which check.py puts into Sources/NativeApp, with doubles of Apple's frameworks: as much of them as the
// example uses, so that its parts for the phone compile and run here.
let package = Package(
    name: "Phone",
    targets: [
        .target(name: "UIKit"),
        .target(name: "WebKit", dependencies: ["UIKit"]),
        .target(name: "SafariServices", dependencies: ["UIKit"]),
        .target(name: "AuthenticationServices", dependencies: ["UIKit"]),
        .target(name: "Security"),
        .target(
            name: "NativeApp",
            dependencies: ["UIKit", "WebKit", "SafariServices", "AuthenticationServices", "Security"],
            swiftSettings: [.unsafeFlags(["-warnings-as-errors"])]
        ),
        .executableTarget(
            name: "Phone",
            dependencies: ["NativeApp", "UIKit", "WebKit", "AuthenticationServices"],
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]
        ),
    ]
)
