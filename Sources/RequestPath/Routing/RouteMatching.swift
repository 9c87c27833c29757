import Settings
import Vocabulary

/// Matches a host's routes so that a request meets equal demands however an app reads its path.
extension HostEntry {
    /// The maximum number of habits that apply to an accepted path. A path is read with each subset.
    private static let maxHabits = 5

    @inline(__always)
    func match(
        _ method: UnsafeBufferPointer<UInt8>,
        _ rawPath: UnsafeBufferPointer<UInt8>,
        _ reading: PathReading
    ) -> RouteMatch {
        // A reserved path never reaches the app, even if no endpoint exists there.
        if reading.isReserved { return .notFound }
        let match = self.match(reading.bytes, method)
        guard case .route(let pinned) = match else { return match }
        return pinned.use { route in
            if self.isUniform { return .route(pinned) }
            if reading.hasEncodedSlash, !route.settings.allowEncodedSlashes { return .refused(.pathEncodedSlash) }
            if self.demandsMoreByLetters(than: route, reading.bytes, method) { return .refused(.pathAmbiguous) }
            if reading.habits.isEmpty { return .route(pinned) }
            return self.agreed(route, method, rawPath, self.habits(of: reading, for: route))
        }
    }

    /// Returns the habits of the host's apps that may lead the path to another route than `route`. Colons that the
    /// operator wrote in the route's own path (`/orders:export`) are not streams.
    private func habits(of reading: PathReading, for route: RouteEntry) -> PathHabits {
        guard reading.habits.contains(.dropsStreams) else { return reading.habits }
        let colons = reading.bytes.reduce(0) { $1 == UInt8(ascii: ":") ? $0 + 1 : $0 }
        let areNames = self.settings.caseSensitive || colons == route.colonCount
        return areNames ? reading.habits.subtracting(.dropsStreams) : reading.habits
    }

    /// Returns the route of one reading. If the path continues the path of an exact route, that route is judged, too.
    @inline(__always)
    private func match(_ path: UnsafeBufferPointer<UInt8>, _ method: UnsafeBufferPointer<UInt8>) -> RouteMatch {
        let leaf = self.tree.leaf(of: path)
        let match = self.tree.match(leaf, method)
        guard case .route(let route) = match, !route.use({ self.isStrictest($0) }) else { return match }
        return self.tree.judgingPathInfo(route.counted, leaf, path, method)
    }

    /// Whether another spelling of the path's letters leads to demands that `route` does not make. Spellings differ in
    /// case, composition, or the code page of a path that is not UTF-8.
    @inline(__always)
    private func demandsMoreByLetters(
        than route: RouteEntry,
        _ path: UnsafeBufferPointer<UInt8>,
        _ method: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        guard let tree = self.foldedTree, !self.isStrictest(route) else { return false }
        if self.hasFoldedPatterns, LetterCase.isFolded(path) { return false }
        let demandsMore = LetterCase.withFolded(path, keepsCase: self.settings.caseSensitive) {
            tree.demandsMore(than: route, $0, method)
        }
        guard !demandsMore, !self.outlines.isEmpty else { return demandsMore }
        guard let outline = LetterCase.outlineInCodePage(path) else { return false }
        return outline.withUnsafeBufferPointer { outline in
            self.outlines.contains { $0.demandsMore(than: route, outline, method) }
        }
    }

    /// Returns `chosen` if every combination of the habits leads to a route with equal demands.
    ///
    /// A reading that matches no route cannot bypass a route and is ignored, so `/x;jsessionid=1` is accepted as `/x`.
    /// A reading that begins with an exact route's path is not ignored: an app may run that route with the rest as path
    /// information.
    private func agreed(
        _ chosen: RouteEntry,
        _ method: UnsafeBufferPointer<UInt8>,
        _ rawPath: UnsafeBufferPointer<UInt8>,
        _ present: PathHabits
    ) -> RouteMatch {
        let refusal = RouteMatch.refused(present.refusal)
        guard present.count <= Self.maxHabits, !present.contains(.decodesFurther) else { return refusal }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(rawPath.count, 1)) { scratch in
            guard let output = scratch.baseAddress else { return refusal }
            // Every subset of the habits. The last subset is empty: the raw path.
            var subset = present.rawValue
            while true {
                let habits = PathHabits(rawValue: subset)
                if habits.isCoherent(among: present) {
                    let path = UnsafeBufferPointer(start: output, count: habits.read(rawPath, into: output))
                    switch self.match(path, method) {
                    case .route(let other) where other.use({ $0.demands }) == chosen.demands: break
                    case .notFound where !self.tree.demandsMore(than: chosen, path, method): break
                    default: return refusal
                    }
                    if self.demandsMoreByLetters(than: chosen, path, method) { return refusal }
                }
                if subset == 0 { return .route(Pinned(chosen)) }
                subset = (subset &- 1) & present.rawValue
            }
        }
    }

    /// Whether a GET of this path requires a session.
    package func demandsSession(for path: String) -> Bool {
        guard case .route(let route) = self.match(path, "GET") else { return false }
        return route.use { $0.settings.auth == .required }
    }

    /// Returns the route of a path that an operator wrote, for messages about the settings.
    func match(_ path: String, _ method: String) -> RouteMatch {
        let escaped = path.utf8.flatMap { byte in
            (0x21..<0x7F).contains(byte) ? [byte] : Array("%\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8)
        }
        var method = method
        return escaped.withUnsafeBufferPointer { raw in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: raw.count) { scratch in
                switch PathReading.read(raw, into: scratch) {
                case .refused(let reason): .refused(reason)
                case .read(let reading): method.withUTF8 { self.match($0, raw, reading) }
                }
            }
        }
    }
}
