import Foundation

/// An answer as a client reads it.
package struct Answer: Sendable {
    /// The head's exact bytes.
    package var head: [UInt8]
    /// The body without its framing.
    package var body: [UInt8] = []
    /// The body with its framing, as received.
    package var rawBody: [UInt8] = []
    /// The lines that followed a chunked body.
    package var trailers: [String] = []
    /// The status codes of the interim (1xx) answers before it.
    package var interim: [Int] = []
    /// True if the message ended where its framing says; without a length, that is the end of the stream.
    package var isWhole = false
    /// The event that arrived in place of the rest of the answer.
    package var ended: Wire.Event?

    /// An answer with these bytes, whose body is whole if it is given here.
    package init(head: [UInt8], body: [UInt8]? = nil) {
        self.head = head
        self.body = body ?? []
        self.isWhole = body != nil
    }

    /// The body as text.
    package var text: String { String(latin1: self.body) }
    /// The status line and the fields.
    package var lines: [String] { String(latin1: self.head).split(separator: "\r\n").map(String.init) }
    /// The status code; 0 when it has none.
    package var status: Int { self.lines.first.flatMap { Int($0.dropFirst(9).prefix(3)) } ?? 0 }

    /// All values of a field, in order.
    package func values(_ name: String) -> [String] {
        self.lines.dropFirst().compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
            return parts[1].trimmingCharacters(in: .whitespaces)
        }
    }

    /// The first value of a field.
    package func value(_ name: String) -> String? { self.values(name).first }

    /// The reason id of a problem document.
    package var reason: String? {
        guard self.value("content-type") == "application/problem+json" else { return nil }
        return self.text.firstMatch(of: /"reason":"([a-z_.]+)"/).map { String($0.1) }
    }

    /// The reason id on a page for people.
    package var pageReason: String? {
        guard self.value("content-type") == "text/html; charset=utf-8" else { return nil }
        return self.text.firstMatch(of: /Reason <code>([a-z_.]+)<\/code>/).map { String($0.1) }
    }
}

extension Wire {
    /// Sends a request and reads the answer.
    package func request(_ text: String, seconds: Double = 5) throws -> Answer {
        self.send(text)
        return try self.answer(to: text.hasPrefix("HEAD ") ? "HEAD" : "GET", seconds: seconds)
    }

    /// Reads one answer and any interim answers before it.
    package func answer(to method: String = "GET", seconds: Double = 5) throws -> Answer {
        var interim: [Int] = []
        while true {
            guard let head = self.receive(through: "\r\n\r\n", seconds: seconds) else {
                let rest = self.receiveAll(seconds: 0.1)
                throw BenchFailure("no answer: \(rest.last) after \(String(latin1: rest.bytes.prefix(300)))")
            }
            var answer = Answer(head: head)
            guard head.starts(with: Array("HTTP/1.1 ".utf8)) else {
                throw BenchFailure("not an answer: \(String(latin1: head.prefix(300)))")
            }
            if (100..<200).contains(answer.status), answer.status != 101 {
                interim.append(answer.status)
                continue
            }
            answer.interim = interim
            self.readBody(of: &answer, to: method, seconds: seconds)
            Secrets.shared.note(in: answer.head)
            Secrets.shared.note(in: answer.body)
            return answer
        }
    }

    private func readBody(of answer: inout Answer, to method: String, seconds: Double) {
        if method == "HEAD" || [101, 204, 304].contains(answer.status) {
            answer.isWhole = true
        } else if answer.value("transfer-encoding") == "chunked" {
            self.readChunks(of: &answer, seconds: seconds)
        } else if let length = answer.value("content-length").flatMap({ Int($0) }) {
            while answer.body.count < length {
                guard case .bytes(let bytes) = self.note(self.receive(seconds: seconds), in: &answer) else { return }
                let wanted = length - answer.body.count
                answer.body += bytes.prefix(wanted)
                if bytes.count > wanted { self.keep(bytes[wanted...]) }
            }
            answer.rawBody = answer.body
            answer.isWhole = true
        } else {
            while case .bytes(let bytes) = self.note(self.receive(seconds: seconds), in: &answer) {
                answer.body += bytes
            }
            answer.rawBody = answer.body
            answer.isWhole = answer.ended == .end
        }
    }

    private func note(_ event: Event, in answer: inout Answer) -> Event {
        if case .bytes = event { return event }
        answer.ended = event
        return event
    }

    private func readChunks(of answer: inout Answer, seconds: Double) {
        while true {
            guard let line = self.receive(through: "\r\n", seconds: seconds) else {
                _ = self.note(self.drop(), in: &answer)
                return
            }
            answer.rawBody += line
            guard let size = Int(String(latin1: line.dropLast(2)).prefix { $0 != ";" }, radix: 16) else { return }
            if size == 0 { return self.readTrailers(of: &answer, seconds: seconds) }
            guard let data = self.receive(count: size + 2, seconds: seconds) else {
                answer.body += self.leftOver()
                _ = self.note(self.drop(), in: &answer)
                return
            }
            answer.rawBody += data
            answer.body += data.dropLast(2)
        }
    }

    private func readTrailers(of answer: inout Answer, seconds: Double) {
        while let line = self.receive(through: "\r\n", seconds: seconds) {
            answer.rawBody += line
            if line.count == 2 {
                answer.isWhole = true
                return
            }
            answer.trailers.append(String(latin1: line.dropLast(2)))
        }
        _ = self.note(self.drop(), in: &answer)
    }

    private func leftOver() -> [UInt8] {
        if case .bytes(let bytes) = self.receive(seconds: 0.05) { return bytes }
        return []
    }

    private func drop() -> Event {
        while true {
            let event = self.receive(seconds: 0.2)
            if case .bytes = event { continue }
            return event
        }
    }

    /// True if the connection ends and no byte arrives before that.
    package func endsNow(within seconds: Double = 5) -> Bool {
        let event = self.receive(seconds: seconds)
        return event == .end || event == .reset
    }
}

/// Requests as text.
package enum Request {
    /// The public host in the settings that `Config` writes.
    package static let host = "app.example.com"
    /// The origin of that host.
    package static let origin = "http://app.example.com"

    /// A request, by default a `GET` without a body.
    package static func get(
        _ target: String = "/",
        _ fields: [String] = [],
        method: String = "GET",
        body: String? = nil
    )
        -> String
    {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: \(self.host)"] + fields
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
    }

    /// A `POST`.
    package static func post(_ target: String, _ fields: [String] = [], body: String) -> String {
        self.get(target, fields, method: "POST", body: body)
    }
}
