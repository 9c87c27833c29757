import Foundation
import Glibc
import RequestPath

/// A problem of the test's environment.
struct GatewayFailure: Error, CustomStringConvertible {
    let description: String
}

/// The built binary in front of one app on loopback, with every path public.
final class Gateway {
    static let binary = Corpus.root.appending(path: ".build/release/sallyport")
    static let python = ["/usr/bin/python3", "/usr/local/bin/python3"].first(
        where: FileManager.default.isExecutableFile(atPath:)
    )

    let port: Int
    private let process = Process()
    private let folder: URL

    /// - Parameters:
    /// - app: The port of the app.
    /// - hosts: The values of `Host`.
    init(app: Int, hosts: [String]) throws {
        self.port = try Self.freePort()
        self.folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-wire-\(UUID())")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let entries = hosts.map {
            "  - public_url: \"http://\($0)\"\n    routes:\n      - path: /**\n        auth: public\n"
        }
        let settings = """
            listen: 127.0.0.1:\(self.port)
            admin:
              listen: 127.0.0.1:0
            upstream: http://127.0.0.1:\(app)
            session:
              cookie: sallyport
            timeouts:
              header: 2s
              body_grace: 2s
            drain:
              delay: 0s
              timeout: 0s
            log:
              level: error
              access: false
            hosts:
            \(entries.joined())
            """
        let file = self.folder.appending(path: "sallyport.yaml")
        try settings.write(to: file, atomically: true, encoding: .utf8)
        let log = self.folder.appending(path: "log")
        try Data().write(to: log)
        self.process.executableURL = Self.binary
        self.process.arguments = ["run", "--config", file.path, "--insecure-http"]
        self.process.environment = ["PATH": "/usr/bin:/bin"]
        self.process.standardInput = FileHandle.nullDevice
        self.process.standardOutput = FileHandle.nullDevice
        self.process.standardError = try FileHandle(forWritingTo: log)
        try self.process.run()
        // Half a minute allows for a machine that is building at the same time.
        for _ in 0..<1500 where self.process.isRunning {
            if let probe = try? RawSocket(connectingTo: self.port) {
                probe.close()
                return
            }
            usleep(20_000)
        }
        let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
        self.stop()
        throw GatewayFailure(description: "the gateway did not start: \(text)")
    }

    var isRunning: Bool { self.process.isRunning }

    func stop() {
        if self.process.isRunning {
            self.process.terminate()
            self.process.waitUntilExit()
        }
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// A port that was free a moment ago.
    static func freePort() throws -> Int {
        let socket = try RawSocket(listeningOn: 0)
        defer { socket.close() }
        return socket.localPort
    }
}

/// A blocking TCP socket on loopback whose reads end after some seconds.
final class RawSocket: Sendable {
    private let descriptor: Int32

    private init(descriptor: Int32) {
        self.descriptor = descriptor
        var timeout = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    private static func make() throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw GatewayFailure(description: "no socket: \(errno)") }
        return descriptor
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return address
    }

    private static func call(_ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        withUnsafePointer(to: self.address(port)) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    convenience init(connectingTo port: Int) throws {
        let descriptor = try Self.make()
        guard Self.call(port, { connect(descriptor, $0, $1) }) == 0 else {
            Glibc.close(descriptor)
            throw GatewayFailure(description: "cannot connect to \(port): \(errno)")
        }
        self.init(descriptor: descriptor)
    }

    convenience init(listeningOn port: Int) throws {
        let descriptor = try Self.make()
        guard Self.call(port, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, 64) == 0 else {
            Glibc.close(descriptor)
            throw GatewayFailure(description: "cannot listen on \(port): \(errno)")
        }
        self.init(descriptor: descriptor)
    }

    var localPort: Int {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(self.descriptor, $0, &length) }
        }
        return Int(in_port_t(bigEndian: address.sin_port))
    }

    /// The next connection; nil when none comes in time.
    func accept() -> RawSocket? {
        let descriptor = Glibc.accept(self.descriptor, nil, nil)
        return descriptor >= 0 ? RawSocket(descriptor: descriptor) : nil
    }

    func send(_ bytes: [UInt8]) {
        var start = 0
        while start < bytes.count {
            let count = bytes[start...].withUnsafeBytes {
                Glibc.send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            start += count
        }
    }

    func send(_ text: String) {
        self.send(Array(text.utf8))
    }

    /// The next bytes; empty at the end, nil when none arrive in time or the connection was reset.
    func receive() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = bytes.withUnsafeMutableBytes { recv(self.descriptor, $0.baseAddress, $0.count, 0) }
        return count < 0 ? nil : Array(bytes[0..<count])
    }

    /// Everything up to the end or a reset.
    func receiveAll() -> [UInt8] {
        var all: [UInt8] = []
        while let bytes = self.receive(), !bytes.isEmpty { all += bytes }
        return all
    }

    /// Everything up to the end of a head.
    func receiveHead() -> String {
        var all: [UInt8] = []
        while let bytes = self.receive(), !bytes.isEmpty {
            all += bytes
            let text = String(decoding: all, as: UTF8.self)
            if text.contains("\r\n\r\n") { return text }
        }
        return String(decoding: all, as: UTF8.self)
    }

    func close() {
        // Wakes a reader that waits in another thread.
        shutdown(self.descriptor, Int32(SHUT_RDWR))
        Glibc.close(self.descriptor)
    }
}
