package androidx.activity

import android.content.Context
import android.content.Intent

open class ComponentActivity : Context() {
    val intent: Intent? = null

    fun addOnNewIntentListener(listener: (Intent) -> Unit) {
        arrive = listener
    }

    lateinit var arrive: (Intent) -> Unit
}
