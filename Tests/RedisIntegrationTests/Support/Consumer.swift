import Foundation
import GatewayBench

#if canImport(Glibc)
import Glibc
#endif

/// The result for a browser that presented a transfer token.
enum Consumption: Sendable, Hashable {
    /// It is signed in, with this session cookie.
    case signedIn(String)
    /// It is not signed in, and a repetition would not change that.
    case refused(status: Int)
    /// It may try again; with this attempt cookie the repetition is the same attempt.
    case unavailable(attempt: String?)
    /// The answer did not arrive completely: the browser may have been signed in or not.
    case lost
    /// The request was never sent.
    case unsent
}

/// One browser with a kept connection, which is opened again after it was lost. Used by one thread at a time.
///
/// To be fast, it reads only the status, the length and the cookies of an answer.
final class Consumer {
    private let port: () -> Int
    private var descriptor: Int32 = -1
    private var buffer = [UInt8](repeating: 0, count: 16_384)

    /// - Parameter port: Returns the port to connect to. It is called for each connection, since gateways are replaced.
    init(port: @escaping () -> Int) {
        self.port = port
    }

    deinit {
        self.close()
    }

    /// Identifies a token in the audit stream, which never contains the token itself: the user agent that presents it.
    static func label(of token: String) -> String {
        // Hash values are seeded anew in every process.
        "browser-" + String(UInt(bitPattern: token.hashValue), radix: 36)
    }

    /// Presents a token once and waits for the answer.
    func consume(_ token: String, attempt: String? = nil) -> Consumption {
        guard self.present(token, attempt: attempt) else { return .unsent }
        return self.answer()
    }

    /// Presents a token, and repeats the attempt while the answer is 503, because Redis may be late on a busy machine.
    ///
    /// - Parameter first: The outcome of a first try; nil: there was none.
    func complete(_ token: String, after first: Consumption? = nil) -> Consumption {
        var outcome = first ?? self.consume(token)
        for _ in 0..<200 {
            guard case .unavailable(let attempt) = outcome else { break }
            usleep(20_000)
            outcome = self.consume(token, attempt: attempt)
        }
        return outcome
    }

    /// Sends the navigation that presents a token; false if no gateway can be reached.
    func present(_ token: String, attempt: String? = nil) -> Bool {
        let cookie = attempt.map { ["Cookie: sallyport-attempt=\($0)"] } ?? []
        let fields = ["User-Agent: \(Self.label(of: token))"] + cookie
        let request = Array(Request.get("/?session_transfer_token=\(token)", fields).utf8)
        if self.descriptor < 0 { self.connect() }
        guard self.descriptor >= 0 else { return false }
        let sent = request.withUnsafeBytes { send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard sent == request.count else {
            self.close()
            return false
        }
        return true
    }

    /// Reads the answer to the last navigation.
    func answer() -> Consumption {
        var count = 0
        while true {
            let read = self.buffer.withUnsafeMutableBytes { buffer in
                recv(self.descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count, 0)
            }
            guard read > 0 else {
                self.close()
                return .lost
            }
            count += read
            guard let head = self.headLength(count) else { continue }
            let text = String(decoding: self.buffer[..<head], as: UTF8.self)
            let fields = text.split(separator: "\r\n")
            let length = fields.first { $0.lowercased().hasPrefix("content-length:") }
                .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) }
            guard count >= head + (length ?? 0) else { continue }
            if fields.contains(where: { $0.lowercased() == "connection: close" }) || length == nil { self.close() }
            return Self.outcome(fields)
        }
    }

    /// The length of the head with its empty line; nil until that has arrived.
    private func headLength(_ count: Int) -> Int? {
        var index = 3
        while index < count {
            if self.buffer[index] == 0x0A, self.buffer[index - 1] == 0x0D, self.buffer[index - 2] == 0x0A {
                return index + 1
            }
            index += 1
        }
        return nil
    }

    private static func outcome(_ fields: [Substring]) -> Consumption {
        func cookie(_ name: String) -> String? {
            let start = "set-cookie: \(name)="
            return fields.first { $0.lowercased().hasPrefix(start) }
                .map { String($0.dropFirst(start.count).prefix { $0 != ";" }) }
                .flatMap { $0.isEmpty ? nil : $0 }
        }
        let status = fields.first.flatMap { Int($0.dropFirst(9).prefix(3)) } ?? 0
        if status == 503 { return .unavailable(attempt: cookie("sallyport-attempt")) }
        guard let session = cookie("sallyport") else { return .refused(status: status) }
        Secrets.shared.note(session)
        return .signedIn(session)
    }

    private func connect() {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var one: Int32 = 1
        setsockopt(self.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        // Longer than any answer may take. An answer that takes longer counts as lost.
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        if Wire.withAddress("127.0.0.1", self.port(), { Glibc.connect(self.descriptor, $0, $1) }) != 0 { self.close() }
    }

    private func close() {
        if self.descriptor >= 0 { Glibc.close(self.descriptor) }
        self.descriptor = -1
    }
}
