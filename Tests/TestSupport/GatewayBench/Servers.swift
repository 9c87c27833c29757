import Dispatch
package import Foundation
import TestSupport
package import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Real server programs, for tests that run where these are installed.
package enum Servers {
    /// Ends a test for which a program is missing: as a failure under `CI=true`, otherwise as skipped.
    ///
    /// - Parameter isOptional: Whether CI does without it as well.
    /// - Throws: always.
    package static func missing(
        _ name: String,
        isOptional: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Never {
        if !isOptional, ProcessInfo.processInfo.environment["CI"] == "true" {
            throw BenchFailure("\(name) is not installed")
        }
        try Test.cancel("\(name) is not installed", sourceLocation: sourceLocation)
    }

    /// The first of these paths that is an executable file.
    package static func find(_ names: [String]) -> String? {
        names.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Runs a program to its end. It gets only the environment that is given here.
    ///
    /// - Parameter seconds: After this time it is killed, and its status is that of the signal.
    package static func run(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        input: [UInt8] = [],
        within seconds: Double = 300
    ) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        let own = ["PATH": "/usr/sbin:/usr/bin:/bin", "HOME": "/nonexistent"]
        process.environment = Gateway.environment.merging(own) { $1 }.merging(environment) { $1 }
        let file = FileManager.default.temporaryDirectory.appending(path: "sallyport-input-\(UUID())")
        try Data(input).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let pipe = Pipe()
        process.standardInput = try FileHandle(forReadingFrom: file)
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        // Its queue keeps it until then, also if it is cancelled: a process in it would keep its descriptors so long.
        let killing = DispatchWorkItem { [id = process.processIdentifier] in kill(id, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: killing)
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        killing.cancel()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    /// A program that serves on `port` until it is stopped.
    package final class Running: @unchecked Sendable {
        private let process = Process()

        /// Starts it and waits so many seconds at most until it accepts connections.
        package init(
            _ program: String,
            _ arguments: [String],
            in folder: URL,
            port: Int,
            environment: [String: String] = [:],
            within seconds: Double = 10
        ) throws {
            self.process.executableURL = URL(filePath: program)
            self.process.arguments = arguments
            let own = ["PATH": "/usr/sbin:/usr/bin:/bin", "HOME": folder.path]
            self.process.environment = own.merging(environment) { $1 }
            self.process.currentDirectoryURL = folder
            self.process.standardInput = FileHandle.nullDevice
            let log = folder.appending(path: "server.log")
            try Data().write(to: log)
            let output = try FileHandle(forWritingTo: log)
            self.process.standardOutput = output
            self.process.standardError = output
            try self.process.run()
            guard eventually(within: seconds, { (try? Wire(to: port)) != nil }) else {
                self.stop()
                let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
                throw BenchFailure("\(program) did not start: \(text)")
            }
        }

        /// Sends it a signal.
        package func signal(_ number: Int32) {
            kill(self.process.processIdentifier, number)
        }

        /// Ends the process.
        package func stop() {
            guard self.process.isRunning else { return }
            self.process.terminate()
            guard !eventually(within: 5, { !self.process.isRunning }) else { return }
            kill(self.process.processIdentifier, SIGKILL)
            // A dying process still accepts connections.
            _ = eventually(within: 5) { !self.process.isRunning }
        }
    }

    /// A folder for one test.
    package static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-servers-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }
}
