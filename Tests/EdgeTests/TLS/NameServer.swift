import Foundation
import GatewayBench

#if canImport(Glibc)
import Glibc
#endif

/// A DNS server on a port of the loopback for which every name leads there: for a proxy that finds names by DNS alone.
final class NameServer: Sendable {
    private let socket: Int32
    let port: Int

    init() throws {
        let port = try ServerPorts.take()
        let socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard socket >= 0, bound == 0 else { throw BenchFailure("no DNS server: \(errno)") }
        self.socket = socket
        self.port = port
        Thread.detachNewThread { Self.serve(socket) }
    }

    func stop() { shutdown(self.socket, Int32(SHUT_RDWR)) }

    /// Answers until the socket is shut down.
    private static func serve(_ socket: Int32) {
        defer { close(socket) }
        var bytes = [UInt8](repeating: 0, count: 512)
        while true {
            var peer = sockaddr_storage()
            var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let isOpen = withUnsafeMutablePointer(to: &peer) { place in
                place.withMemoryRebound(to: sockaddr.self, capacity: 1) { peer in
                    let count = recvfrom(socket, &bytes, bytes.count, 0, peer, &size)
                    guard count > 0 else { return false }
                    guard let answer = Self.answer(bytes.prefix(count)) else { return true }
                    return sendto(socket, answer, answer.count, 0, peer, size) > 0
                }
            }
            guard isOpen else { return }
        }
    }

    /// The answer to a question (RFC 1035 4): one address for type A, and none for others.
    private static func answer(_ question: ArraySlice<UInt8>) -> [UInt8]? {
        guard let end = question.dropFirst(12).firstIndex(of: 0), end + 4 < question.endIndex else { return nil }
        let isAddress = question[end + 2] == 1
        return question.prefix(2) + [0x81, 0x80, 0, 1, 0, isAddress ? 1 : 0, 0, 0, 0, 0] + question[12...(end + 4)]
            + (isAddress ? [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1] : [])
    }
}
