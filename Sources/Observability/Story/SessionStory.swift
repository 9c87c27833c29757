import Glibc
import Vocabulary

/// The log lines about one session, by time. They show why a user had to sign in again.
///
/// A line belongs to the story if it contains the session's fingerprint or id, or the id of a request about the
/// session. While the session lived, ends of its parent session and of all the user's sessions belong to the story,
/// too.
package struct SessionStory {
    /// A line of a log.
    struct Line {
        let time: String
        let value: JSONValue

        var isAccess: Bool { self.text("stream") == "access" }
        var event: AuditEvent.Kind? { AuditEvent.Kind(rawValue: self.text("event")) }
        var session: String? { self.value["session"]?.string }
        var fingerprint: String? { self.value["fingerprint"]?.string }
        var reason: Reason? { Reason(rawValue: self.text("reason")) }

        /// True if the line is about the beginning of a session.
        var isBeginning: Bool {
            switch self.event {
            case .sessionCreated, .transferTokenConsumed, .hostTicketUsed: true
            default: false
            }
        }

        func text(_ name: String) -> String { self.value[name]?.string ?? "" }
        func detail(_ name: String) -> String? { self.value["details"]?[name]?.string }
    }

    /// The lines of the story, by time.
    let lines: [Line]
    /// The fingerprints and ids of the session.
    package let names: Set<String>

    /// - Parameters:
    ///   - name: The fingerprint of the session's token, or the session's public id.
    ///   - logs: The lines as the gateways wrote them. Other lines are skipped.
    package init(of name: String, in logs: [[UInt8]]) {
        var search = Search(name)
        // A later line may contain a name that belongs to earlier lines, so the logs are read again.
        for _ in 0..<Search.rounds where search.hasNews {
            search.hasNews = false
            for (number, log) in logs.enumerated() { search.read(log, number) }
        }
        self.names = search.names
        // Lines of the same millisecond stay in the order of the logs.
        let lines = search.found.sorted { left, right in
            (left.value.time, left.key.log, left.key.offset) < (right.value.time, right.key.log, right.key.offset)
        }
        let begin = lines.first { $0.value.isBeginning }?.value.time
        let end = lines.last { $0.value.event == .sessionEnded && !search.ends.contains($0.key) }?.value.time
        self.lines = lines.filter { place, line in
            guard search.ends.contains(place) else { return true }
            return begin.map { line.time >= $0 } ?? true && end.map { line.time <= $0 } ?? true
        }.map(\.value)
    }

    /// The user's names in the lines.
    package var subjects: [String] { Set(self.lines.map { $0.text("subject") }).filter { !$0.isEmpty }.sorted() }

    /// True if no line was found.
    package var isEmpty: Bool { self.lines.isEmpty }
}

/// Collects the lines of a session.
private struct Search {
    /// The maximum number of passes over the logs.
    static let rounds = 4

    struct Place: Hashable {
        let log: Int
        let offset: Int
    }

    /// The session's fingerprints and ids.
    private(set) var names: Set<String>
    private var requests: Set<String> = []
    /// The ids of parent sessions. Of these, and of `subjects`, only ends belong to the story.
    private var parents: Set<String> = []
    private var subjects: Set<String> = []
    private(set) var found: [Place: SessionStory.Line] = [:]
    /// The ends of parent sessions, or of all sessions of a user.
    private(set) var ends: Set<Place> = []
    /// True if new names were found: the logs must be read again.
    var hasNews = true

    init(_ name: String) {
        self.names = [name]
    }

    mutating func read(_ log: [UInt8], _ number: Int) {
        for name in self.names.union(self.requests) {
            for (offset, line) in Self.lines(of: log, with: name) {
                self.take(line, Place(log: number, offset: offset))
            }
        }
        for name in self.parents.union(self.subjects) {
            for (offset, line) in Self.lines(of: log, with: name) where self.isEnd(line) {
                let place = Place(log: number, offset: offset)
                if self.found.updateValue(line, forKey: place) == nil { self.ends.insert(place) }
            }
        }
    }

    /// Returns whether the line is the end of a parent session or of all sessions of a user.
    private func isEnd(_ line: SessionStory.Line) -> Bool {
        guard line.event == .sessionEnded || line.event == .tokenRevoked else { return false }
        return line.session.map(self.parents.contains) ?? self.subjects.contains(line.text("subject"))
    }

    private mutating func take(_ line: SessionStory.Line, _ place: Place) {
        // The line is about this session, so it is not an end of another session.
        self.ends.remove(place)
        guard self.found.updateValue(line, forKey: place) == nil else { return }
        let named = [line.session, line.fingerprint, line.value["token_fingerprint"]?.string].compactMap(\.self)
        guard named.contains(where: self.names.contains) else { return }
        self.note(line.text("request_id"), \.requests)
        for name in [line.session, line.fingerprint].compactMap(\.self) { self.note(name, \.names) }
        if let parent = line.detail("parent_session"), !self.names.contains(parent) { self.note(parent, \.parents) }
        self.note(line.text("subject"), \.subjects)
    }

    private mutating func note(_ name: String, _ set: WritableKeyPath<Search, Set<String>>) {
        if !name.isEmpty, self[keyPath: set].insert(name).inserted { self.hasNews = true }
    }

    /// Returns the lines that contain `text` as a JSON string, with their offsets.
    private static func lines(of log: [UInt8], with text: String) -> [(Int, SessionStory.Line)] {
        let needle = Array("\"\(text)\"".utf8)
        var lines: [(Int, SessionStory.Line)] = []
        var start = 0
        while let hit = self.offset(of: needle, in: log, from: start) {
            let first = log[..<hit].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
            let end = log[hit...].firstIndex(of: 0x0A) ?? log.count
            if let value = JSONText.decode(Array(log[first..<end])), let time = value["time"]?.string {
                lines.append((first, SessionStory.Line(time: time, value: value)))
            }
            start = end
        }
        return lines
    }

    /// Returns the next offset of `needle`, which begins with a quotation mark.
    private static func offset(of needle: [UInt8], in log: [UInt8], from start: Int) -> Int? {
        log.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            // Searches for the second byte, because quotation marks are too frequent.
            var place = start + 1
            while place + needle.count <= bytes.count + 1,
                let hit = memchr(base + place, Int32(needle[1]), bytes.count - place)
            {
                let first = UnsafeRawPointer(hit) - base - 1
                guard first + needle.count <= bytes.count else { return nil }
                if memcmp(base + first, needle, needle.count) == 0 { return first }
                place = first + 2
            }
            return nil
        }
    }
}
