import { createRouter, createWebHistory } from 'vue-router'
import FleetPage from '@/fleet/FleetPage.vue'

export const router = createRouter({
  history: createWebHistory(),
  routes: [
    { path: '/', name: 'fleet', component: FleetPage },
    { path: '/host/:host', name: 'host', component: () => import('@/timeline/HostPage.vue'), props: true },
    { path: '/incidents', name: 'incidents', component: () => import('@/incidents/IncidentsPage.vue') },
    { path: '/incident/:id', name: 'incident', component: () => import('@/incidents/IncidentPage.vue'), props: true },
    { path: '/share/:link', name: 'share', component: () => import('@/share/SharePage.vue'), props: true },
    { path: '/job/:job', name: 'job', component: () => import('@/jobs/JobPage.vue'), props: true },
    { path: '/compare', name: 'compare', component: () => import('@/compare/ComparePage.vue') },
    { path: '/alerts', name: 'alerts', component: () => import('@/alerts/AlertsPage.vue') },
    { path: '/alerts/log', name: 'alerts-log', component: () => import('@/alerts/AlertsLogPage.vue') },
    { path: '/settings', name: 'settings', component: () => import('@/settings/SettingsPage.vue') },
    { path: '/about', name: 'about', component: () => import('@/about/AboutPage.vue') },
    { path: '/login', name: 'login', component: () => import('@/login/LoginPage.vue') },
    { path: '/:path(.*)*', name: 'not-found', component: () => import('@/layout/NotFoundPage.vue') },
  ],
})
