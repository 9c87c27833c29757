import Foundation
import TestSupport
import Testing

/// `deploy/systemd/sallyport.service`, judged by systemd's own tools.
@Suite struct SystemdTests {
    static let isInstalled = (try? PackageFiles.run(["systemd-analyze", "--version"])) != nil

    /// The unit with the path of the tested binary, in a folder that is removed with the test.
    private static func with(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-systemd-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let binary = PackageFiles.root.appending(path: ".build/release/sallyport").path
        let unit = folder.appending(path: "sallyport.service")
        try PackageFiles.text("deploy/systemd/sallyport.service").replacing("/usr/bin/sallyport", with: binary)
            .write(to: unit, atomically: true, encoding: .utf8)
        try body(unit.path)
    }

    @Test("systemd accepts the unit without a warning", .enabled(if: isInstalled, "systemd is not installed"))
    func verify() throws {
        try Self.with { unit in
            let verdict = try #require(try PackageFiles.run(["systemd-analyze", "verify", "--man=no", unit]))
            #expect(verdict.status == 0 && verdict.output.isEmpty, "\(verdict.output)")
        }
    }

    @Test(
        "The sandbox of the unit leaves an exposure of at most 1.5 of 10",
        .enabled(if: isInstalled, "systemd is not installed")
    )
    func exposure() throws {
        try Self.with { unit in
            let arguments = ["systemd-analyze", "security", "--offline=true", "--threshold=15", unit]
            let verdict = try #require(try PackageFiles.run(arguments))
            #expect(verdict.status == 0, "\(verdict.output)")
        }
    }

    /// The gateway must not be killed while it drains.
    @Test func stopsLaterThanTheGateway() throws {
        let unit = try PackageFiles.text("deploy/systemd/sallyport.service")
        let patience = try #require(unit.firstMatch(of: /TimeoutStopSec=(\d+)s/).flatMap { Int($0.1) })
        #expect(try PackageFiles.drain() < patience)
    }
}
