import Vocabulary

/// Applies `SALLYPORT_*` variables over the file. `SALLYPORT_SESSION_IDLE` sets the key `session.idle`.
struct EnvironmentOverlay {
    static let prefix = "SALLYPORT_"
    /// The variable that contains the path of the settings file. It sets no key.
    static let fileVariable = "SALLYPORT_CONFIG"

    private(set) var problems: [SettingsProblem] = []
    private(set) var warnings: [String] = []

    /// A key that a variable can set: a single value, or a list of values separated by commas.
    struct Variable: Sendable {
        var path: [String]
        var kind: SettingKind
    }

    static let variables: [String: Variable] = {
        var variables: [String: Variable] = [:]
        func collect(_ section: Section, _ path: [String]) {
            for key in section.keys {
                let path = path + [key.name]
                switch key.kind {
                case .section(let below): collect(below, path)
                case .sections, .named, .pairs, .document: break
                default:
                    let name = key.environmentName ?? Self.name(of: path)
                    variables[name] = Variable(path: path, kind: key.kind)
                }
            }
        }
        collect(.file, [])
        return variables
    }()

    /// Returns the name that follows from a key's path. Some keys have an `environmentName` instead.
    private static func name(of path: [String]) -> String { self.prefix + path.joined(separator: "_").uppercased() }

    /// Returns the keys that these variables set, and the mappings that contain these keys.
    static func keys(setBy environment: [String: String]) -> Set<String> {
        let paths = environment.keys.compactMap { self.variables[$0]?.path }
        return Set(paths.flatMap { path in path.indices.map { path[...$0].joined(separator: ".") } })
    }

    /// Applies the variables that set a key. A variable replaces the value in the file. Reports unknown variables with
    /// the prefix `SALLYPORT_`, and warns of service links (`ServiceLink`).
    mutating func apply(_ environment: [String: String], to tree: inout SettingsTree) {
        var links: [String] = []
        for (name, text) in environment.sorted(by: { $0.key < $1.key }) {
            guard name.hasPrefix(Self.prefix), name != Self.fileVariable else { continue }
            if let variable = Self.variables[name] {
                self.set(name, text, variable, in: &tree)
            } else if ServiceLink.matches(name, text) {
                links.append(name)
            } else {
                self.reportUnknown(name)
            }
        }
        self.warn(ofServiceLinks: links)
    }

    /// Adds one warning for all service links, because each service sets at least seven variables.
    private mutating func warn(ofServiceLinks names: [String]) {
        guard let first = names.first else { return }
        let others = names.count > 1 ? " and \(names.count - 1) more like it are" : " is"
        self.warnings.append(
            "\(first)\(others) ignored: Kubernetes sets such variables for a service whose name begins with sallyport; "
                + "set enableServiceLinks: false in the pod to avoid them"
        )
    }

    private mutating func set(_ name: String, _ text: String, _ variable: Variable, in tree: inout SettingsTree) {
        let origin = SettingsOrigin.environment(name)
        guard !text.isEmpty else {
            self.report(name, variable, found: "an empty text", fix: "unset the variable, or set a value")
            return
        }
        do throws(SyntaxFault) {
            var value = try variable.kind.read(text)
            if case .list(let elements) = value {
                value = .list(elements.map { $0.at(origin) })
            }
            let setting = Setting(value: value, origin: origin, shown: variable.kind.shown(text)).at(origin)
            tree.set(setting, at: variable.path)
        } catch {
            let found = variable.kind.found(text)
            self.report(name, variable, found: found, fix: error.fix)
            tree.set(Setting(value: .invalid, origin: origin, shown: ""), at: variable.path)
        }
    }

    private mutating func report(_ name: String, _ variable: Variable, found: String, fix: String) {
        self.problems.append(
            SettingsProblem(
                origin: .environment(name),
                key: variable.path.joined(separator: "."),
                found: found,
                allowed: variable.kind.allowed,
                fix: fix
            )
        )
    }

    private mutating func reportUnknown(_ name: String) {
        let isShown = isKeyLike(name)
        let found = "an unknown variable"
        var fix = "unset it: unknown variables with this prefix are refused, because they may be misspelt"
        if name.hasPrefix("SALLYPORT_INSECURE") {
            let flag = name.dropFirst(Self.prefix.count).lowercased().replacing("_", with: "-")
            fix = "use the command line flag --\(flag): insecure settings are flags, so that each start shows them"
        } else if let hint = MisplacedKeys.secretHint(for: String(name.dropFirst(Self.prefix.count))) {
            fix = "a variable must not hold this secret: \(hint)"
        } else if let key = Section.file.keys.first(where: { Self.prefix + $0.name.uppercased() == name }) {
            fix = "\(key.name) is a \(key.kind.name): write it in the file, or set one key below it"
        } else if let known = Self.variables.first(where: { Self.name(of: $0.value.path) == name })?.key {
            fix = "the variable of \(Self.variables[known]?.path.joined(separator: ".") ?? "") is \(known)"
        } else if let nearest = Self.nearestVariable(to: name) ?? Self.longerVariable(of: name) {
            fix = "did you mean \(nearest)?"
        }
        self.problems.append(
            SettingsProblem(
                origin: .environment(isShown ? name : "SALLYPORT_(not shown)"),
                key: "",
                found: found,
                allowed: "SALLYPORT_ and the path of a key in capitals, e.g. SALLYPORT_SESSION_IDLE",
                fix: fix
            )
        )
    }

    /// Returns the most similar variable, compared without the common prefix; `nil` if none is similar.
    private static func nearestVariable(to name: String) -> String? {
        let names = self.variables.keys.sorted().map { String($0.dropFirst(self.prefix.count)) }
        return Spelling.nearest(to: String(name.dropFirst(self.prefix.count)), in: names).map { self.prefix + $0 }
    }

    /// Returns the only variable that ends like `name`: `SALLYPORT_PROVIDER_OIDC_SCOPES` for `SALLYPORT_OIDC_SCOPES`.
    private static func longerVariable(of name: String) -> String? {
        let end = name.dropFirst(self.prefix.count - 1)
        let names = self.variables.filter { self.name(of: $0.value.path).hasSuffix(end) }.map(\.key)
        return names.count == 1 && end.count > 4 ? names.first : nil
    }
}

extension Section {
    /// Returns the variable that sets the key with this path; `nil` if none exists.
    package static func variable(of key: String) -> String? {
        EnvironmentOverlay.variables.first { $0.value.path.joined(separator: ".") == key }?.key
    }
}
