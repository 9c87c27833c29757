/// JSON Merge Patch (RFC 7396): objects are merged, `null` removes a member, and other values replace old ones.
extension JSONValue {
    /// Returns this value after the patch (RFC 7396 2). The patch adds `null` members only inside lists.
    package func merged(with patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [String: JSONValue] = [:]
        if case .object(let present) = self { members = present }
        for (name, change) in changes {
            members[name] = change == .null ? nil : (members[name] ?? .null).merged(with: change)
        }
        return .object(members)
    }

    /// Returns whether this patch removes the member.
    package func removes(_ name: String) -> Bool {
        guard case .object(let changes) = self else { return false }
        return changes[name] == .null
    }

    /// Returns the smallest patch that turns this value into `wanted`. Neither value may contain `null` members.
    package func patch(to wanted: JSONValue) -> JSONValue {
        guard case .object(let present) = self, case .object(let members) = wanted else { return wanted }
        var changes: [String: JSONValue] = [:]
        for name in present.keys where members[name] == nil { changes[name] = .null }
        for (name, value) in members where present[name] != value {
            changes[name] = present[name].map { $0.patch(to: value) } ?? value
        }
        return .object(changes)
    }

    /// Returns the path of each changed member, e.g. `session_transfer.enforce_device_binding`, with its new value,
    /// sorted by path. Empty objects are included.
    package func leaves(below path: String = "") -> [(path: String, value: JSONValue)] {
        guard case .object(let members) = self, path.isEmpty || !members.isEmpty else { return [(path, self)] }
        return members.sorted { $0.key < $1.key }.flatMap { name, value in
            value.leaves(below: path.isEmpty ? name : "\(path).\(name)")
        }
    }

    /// Returns this patch without the members that `complete` has with equal values, at any depth.
    package func without(defaultsOf complete: JSONValue) -> JSONValue {
        guard case .object(let members) = self else { return self }
        var kept: [String: JSONValue] = [:]
        for (name, value) in members {
            guard value != complete[name] else { continue }
            let rest = complete[name].map { value.without(defaultsOf: $0) } ?? value
            guard rest != [:] || value == [:] else { continue }
            kept[name] = rest
        }
        return .object(kept)
    }

    /// Returns the object without these members.
    package func without(_ names: [String]) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { !names.contains($0.key) })
    }
}
