@file:Suppress("UNUSED_PARAMETER")

package android.content

import android.net.Uri

/** Preferences in memory. */
class SharedPreferences {
    private val values = java.util.concurrent.ConcurrentHashMap<String, String>()

    fun getString(name: String, otherwise: String?): String? = values[name] ?: otherwise

    fun edit() = Editor()

    inner class Editor {
        private var change: () -> Unit = {}

        fun putString(name: String, value: String) = apply { change = { values[name] = value } }

        fun remove(name: String) = apply { change = { values.remove(name) } }

        fun commit(): Boolean {
            change()
            return true
        }
    }
}

class ActivityNotFoundException : RuntimeException()

class Intent(val action: String, data: Uri?) {
    var data: Uri? = data
        private set

    fun setData(data: Uri?) = apply { this.data = data }

    companion object {
        const val ACTION_VIEW = "android.intent.action.VIEW"
    }
}

open class Context {
    private val preferences = mutableMapOf<String, SharedPreferences>()

    fun getSharedPreferences(name: String, mode: Int) = preferences.getOrPut(name) { SharedPreferences() }

    fun startActivity(intent: Intent) {}

    companion object {
        const val MODE_PRIVATE = 0
    }
}
