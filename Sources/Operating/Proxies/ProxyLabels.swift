/// Labels for a proxy's configuration, made of letters, digits and `_`. Labels that would be equal are numbered.
struct ProxyLabels {
    private var labels: [String: String] = [:]
    private var taken: Set<String> = []

    /// - Parameters:
    ///   - thing: A unique key of the labelled thing.
    ///   - name: The name of the thing in the settings.
    mutating func label(of thing: String, as name: String) -> String {
        if let label = self.labels[thing] { return label }
        let plain = String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        var label = plain
        var number = 1
        // Names in Kubernetes are lower-case, so labels must differ in more than case.
        while !self.taken.insert(label.lowercased()).inserted {
            number += 1
            label = "\(plain)_\(number)"
        }
        self.labels[thing] = label
        return label
    }
}
